#!/bin/sh
# fidelity.sh SOURCE BUILD - the table of releases in docs/FIDELITY.md matches
# the source, and the check detects a difference.
source=$1
cd "$source" || exit 2
tools/fidelity_table.sh "$2" || exit 1

. tests/lint/lib/planted.sh
plant
cp -r docs tools "$planted_copy"
sed -i 's/^| order of/| orders of/' "$planted_copy/docs/FIDELITY.md"
cd "$planted_copy" || exit 2
must_find docs/FIDELITY.md tools/fidelity_table.sh "$2"
