#!/bin/sh
# replay_pytorch.sh LARDER - releases of PyTorch: --pytorch, and what they do.
# shellcheck source=tests/cli/harness/lib.sh
. "$(dirname "$0")/harness/lib.sh"
