#!/bin/sh
# layers.sh SOURCE BUILD - the layers are respected, and the check detects a
# violation.
source=$1
check="$source/tools/check_layers.sh"

"$check" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

# An include LINE at the end of FILE is found.  All use one copy: a fresh one
# for each takes most of a minute.
must_refuse_include() {
    kept=$(cat "$planted_copy/$1" && echo .)
    echo "#include $2" >>"$planted_copy/$1"
    must_find "$1:" "$check" "$planted_copy"
    printf %s "${kept%.}" >"$planted_copy/$1"
}

plant

must_refuse_include include/larder/larder.h '<stdio.h>'
must_refuse_include src/base/host.c '"core/block/block.h"'
must_refuse_include src/base/host.c '"device/device.h"'
must_refuse_include src/device/device.h '"core/block/block.h"'
must_refuse_include src/core/block/block.h '"device/sim.h"'
must_refuse_include src/core/block/block.h '"trace/trace.h"'
must_refuse_include src/core/block/block.h '<stdio.h>'
must_refuse_include src/core/block/block.h '<dlfcn.h>'
must_refuse_include src/trace/trace.h '<dlfcn.h>'
must_refuse_include src/core/block/block.h '<zstd.h>'
must_refuse_include src/core/block/block.h '<cuda.h>'
must_refuse_include src/core/block/block.h '"block.h"'
must_refuse_include src/core/block/block.h '"core/heap/bins.h"'
must_refuse_include src/core/segments/events.h '"core/trim/trim.h"'
must_refuse_include src/core/policy_pytorch/pytorch.h \
    '"core/policy_larder/pages.h"'
must_refuse_include src/core/api/lifecycle.h '"core/nowhere/nothing.h"'
must_refuse_include src/trace/trace.h '"base/host.h"'
must_refuse_include src/trace/trace.h '"replay/replay.h"'
must_refuse_include src/replay/replay.h '"core/block/block.h"'
must_refuse_include src/replay/replay.h '"tune/tune.h"'
must_refuse_include src/tune/tune.h '"report/report.h"'
must_refuse_include src/snapshot/snapshot.h '"base/host.h"'
must_refuse_include src/snapshot/snapshot.h '<jansson.h>'
must_refuse_include cli/main.c '"base/fail.h"'
must_refuse_include cli/main.c '"core/block/block.h"'
must_refuse_include cli/main.c '"tensor/tensor.h"'
must_refuse_include adapters/torch/torch_pools.h '"core/block/block.h"'
must_refuse_include adapters/torch/torch_pools.h '<cuda.h>'
must_refuse_include adapters/preload/slot.c '"core/block/block.h"'
must_refuse_include adapters/functions/adapter.c '"base/host.h"'
must_refuse_include adapters/functions/adapter.c '<dlfcn.h>'
must_refuse_include adapters/driver/fake_state.h '"core/block/block.h"'
must_refuse_include lab/include/larder/lab.h '<stdio.h>'
must_refuse_include lab/tensor/tensor.h '"base/host.h"'
must_refuse_include lab/tensor/tensor.h '"kernels/kernels.h"'
must_refuse_include lab/kernels/kernels.h '"autograd/node.h"'
must_refuse_include lab/autograd/node.h '<jansson.h>'

plant
cp "$planted_copy/src/base/host.c" "$planted_copy/cli/host.c"
must_find 'its name is also that of' "$check" "$planted_copy"

plant
yes '/**/' | head -n 601 >"$planted_copy/src/core/block/long.c"
must_find 'src/core/block/long.c: 601 lines' "$check" "$planted_copy"
