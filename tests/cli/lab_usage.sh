#!/bin/sh
# `larder lab list` and `larder lab run`: options, errors, and listings.
# $1: the command.
. tests/cli/harness

expect 0 lab --help
stdout_has '^Usage: larder lab \[OPTION...\]$'
stdout_has '^  --device SPEC '
expect 0 help lab
stdout_has 'larder lab run NAME'
expect 0 help lab run
stdout_has '^Usage: larder lab run \[OPTION...\] NAME...|all|FILE.py|FILE.ipynb \[ARG...\]$'
expect 0 lab run --help
stdout_has '^  --each-statement '
expect 0 lab list --help
stdout_has '^Usage: larder lab list'
expect 2 help lab walk
stderr_has "'lab' has no subcommand 'walk'"
expect 2 help replay it
stderr_has "'replay' has no subcommand 'it'"

expect 0 lab list
[ "$(wc -l <"$tmp/out")" -ge 5 ] || say_failed 'lists fewer than 5'
expect 0 lab list --json
stdout_has '^\['
expect 2 lab list please
stderr_has "larder lab list: unexpected 'please'"

expect 2 lab run
stderr_has "larder lab run: nothing to run; expected an experiment's NAME"
expect 2 lab run no_such_thing
stderr_has "there is no experiment 'no_such_thing'"
expect 2 lab run --snapshot "$tmp/x.json" move_and_reuse best_fit
stderr_has 'snapshot takes one experiment, but 2 were given'
expect 2 lab run --snapshot "$tmp/x.json" all
stderr_has 'snapshot takes one experiment, but [0-9]* were given'
expect 2 lab run --device foo all
stderr_has "larder lab run: device 'foo': .*expected sim:SIZE"
[ "$(grep -c "'foo" "$tmp/err")" -eq 1 ] || say_failed 'said more than once'
[ ! -s "$tmp/out" ] || say_failed 'experiments began'
expect 2 lab run --device sim:1GiB,events=foo training_loop
stderr_has "larder lab run: device 'sim:1GiB,events=foo': 'events=foo' is not"
expect 2 lab run --snapshot x.html 0
stderr_has 'must end with .json'
expect 2 lab run --each-statement 0
stderr_has 'each-statement is for listings'
printf 'print("hello")\n' >"$tmp/hello.py"
expect 2 lab run --steps "$tmp/hello.py"
stderr_has 'steps is for experiments'
expect 2 lab run 0 "$tmp/hello.py"
stderr_has 'experiments and a listing'
expect 2 lab run "$tmp/absent.py"
stderr_has 'absent.py: cannot be opened: No such file'

# How a listing is run: with the first python3 in PATH, the options before the
# file, and everything after it unchanged.
mkdir "$tmp/bin" "$tmp/package" "$tmp/package/larder" "$tmp/package/larder/lab"
cat >"$tmp/bin/python3" <<'PYTHON'
#!/bin/sh
echo "path $PYTHONPATH"
for word in "$@"; do echo "word $word"; done
exit 7
PYTHON
chmod +x "$tmp/bin/python3"
last="lab run FILE.py"
PATH="$tmp/bin:$PATH" LARDER_PYTHON_DIR="$tmp/package" PYTHONPATH=mine \
    LC_ALL=C.UTF-8 "$larder" lab run --device sim:1GiB --each-statement --json \
    "$tmp/hello.py" --steps 3 >"$tmp/out" 2>"$tmp/err"
is status $? 7
is words "$(sed -n 's/^word //p' "$tmp/out" | tr '\n' ' ')" \
    "-m larder.lab.run --device sim:1GiB --each-statement --json $tmp/hello.py --steps 3 "
stdout_has "^path $(realpath "$tmp/package"):mine$"

last="lab"
PATH="$tmp/bin:$PATH" LARDER_PYTHON_DIR="$tmp/package" LC_ALL=C.UTF-8 \
    "$larder" lab --device sim:1GiB --policy pytorch --conf defrag:off --seed 3 \
    --snapshot a.json --json >"$tmp/out" 2>"$tmp/err"
is status $? 7
is words "$(sed -n 's/^word //p' "$tmp/out" | tr '\n' ' ')" \
    "-m larder.lab.prompt --device sim:1GiB --policy pytorch --conf defrag:off --seed 3 --snapshot a.json --json "

last="lab run FILE.py where the locale is not UTF-8"
PATH="$tmp/bin:$PATH" LARDER_PYTHON_DIR="$tmp/package" LC_ALL=C \
    "$larder" lab run "$tmp/hello.py" >"$tmp/out" 2>"$tmp/err"
is words "$(sed -n 's/^word //p' "$tmp/out" | tr '\n' ' ')" \
    "-m larder.lab.run --ascii $tmp/hello.py "

last="lab run with an interpreter that was named, and the package of the command"
mv "$tmp/bin/python3" "$tmp/bin/python of mine"
LARDER_PYTHON="$tmp/bin/python of mine" PYTHONPATH=mine LC_ALL=C.UTF-8 \
    "$larder" lab run "$tmp/hello.py" >"$tmp/out" 2>"$tmp/err"
is words "$(sed -n 's/^word //p' "$tmp/out" | tr '\n' ' ')" \
    "-m larder.lab.run $tmp/hello.py "
stdout_has "^path $(realpath python):mine$"

last="lab run with an interpreter that has the only package"
cp "$larder" "$tmp/bin/larder"
LARDER_PYTHON="$tmp/bin/python of mine" PYTHONPATH=mine LC_ALL=C.UTF-8 \
    "$tmp/bin/larder" lab run "$tmp/hello.py" >"$tmp/out" 2>"$tmp/err"
stdout_has '^path mine$'

last="lab run with an interpreter and a package"
LARDER_PYTHON="$tmp/bin/python of mine" LARDER_PYTHON_DIR="$tmp/package" \
    PYTHONPATH=mine "$larder" lab run "$tmp/hello.py" >"$tmp/out" 2>"$tmp/err"
stdout_has "^path $(realpath "$tmp/package"):mine$"

last="lab run with an interpreter that is not there"
LARDER_PYTHON="$tmp/nothing" "$larder" lab run "$tmp/hello.py" \
    >"$tmp/out" 2>"$tmp/err"
is status $? 2
stderr_has "$tmp/nothing cannot be started: No such file"

last="lab run without python3"
PATH="$tmp/nothing" LARDER_PYTHON_DIR="$tmp/package" \
    "$larder" lab run "$tmp/hello.py" >"$tmp/out" 2>"$tmp/err"
is status $? 2
stderr_has 'python3 cannot be started: No such file'

last="lab run without the package"
LARDER_PYTHON_DIR="$tmp/bin" "$larder" lab run "$tmp/hello.py" \
    >"$tmp/out" 2>"$tmp/err"
is status $? 2
stderr_has "LARDER_PYTHON_DIR '$tmp/bin' does not contain the package"

finish
