#!/bin/sh
# figures.sh SOURCE BUILD - the tables of README.md and docs/POLICY.md say what
# the command says today, and the check notices figures that do not.
source=$1
larder=$2/larder
check="$source/bench/figures.py"
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

python3 "$check" --check "$larder" "$source" || exit 1

. "$source/tests/lint/lib/planted.sh"

# One copy with a figure of each table changed, as a run takes seconds.
plant
mkdir -p "$planted_copy/docs/figures"
cp "$source/README.md" "$planted_copy"
cp "$source/docs/POLICY.md" "$planted_copy/docs"
cp "$source/docs/figures/need.csv" "$planted_copy/docs/figures"
ln -s "$source/data" "$planted_copy/data"
least=$(sort -t, -n -k2 "$source/docs/figures/need.csv" | sed -n 2p)
sed -i 's/^| mlp_sgd (2.94 GiB) | 3/&9/' "$planted_copy/README.md"
sed -i 's/^| median | 1/&9/' "$planted_copy/docs/POLICY.md"
sed -i "s/^$least\$/&1/" "$planted_copy/docs/figures/need.csv"
must_find "docs/figures/need.csv: ${least%%,*}" \
    python3 "$check" --check "$larder" "$planted_copy"
for text in "README.md: '| mlp_sgd" 'docs/POLICY.md: the table of needs'; do
    case $said in
    *"$text"*) ;;
    *) echo "planted: '$text' was not found" && exit 1 ;;
    esac
done
