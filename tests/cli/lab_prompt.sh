#!/bin/sh
# The prompt of `larder lab` on lines from a pipe.  $1: the command.
. tests/cli/harness
# Python cannot load a library that wants a sanitizer loaded first.
! is_sanitized || exit 77

LC_ALL=C.UTF-8
export LC_ALL

# type_in STATUS LINES ARGUMENT...: run the lines and keep their output.
type_in() {
    wanted=$1
    lines=$2
    shift 2
    last="lab $* <<< $lines"
    printf %b "$lines" | "$larder" lab "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
    if [ "$status" -ne "$wanted" ]; then
        say_failed "exit status $status, expected $wanted: $(cat "$tmp/err")"
    fi
}

# last_field NAME: print its value in the last line of JSON.
last_field() {
    sed -n '$s/.*"'"$1"'": \("[^"]*"\|[^,}]*\).*/\1/p' "$tmp/out"
}

gib=1073741824
small='sim:8GiB,backing=none'

# After a move to the host the device's memory stays reserved.
type_in 0 "a = torch.zeros(256,1024,1024, device='cuda')\nb = zeros(256,1024,1024,device=cuda)\nb = b.to('cpu')\n" \
    --device "$small,context=1001MiB" --json
is lines "$(wc -l <"$tmp/out")" 3
is reserved "$(last_field reserved_bytes)" $((2 * gib))
is allocated "$(last_field allocated_bytes)" $gib
is host "$(last_field host_bytes)" $gib
is context "$(last_field context_bytes)" $((1001 * 1048576))
is smi "$(last_field smi_bytes)" $((2 * gib + 1001 * 1048576))
is ok "$(last_field ok)" true
is error "$(last_field error)" null

# Rebinding needs room for both; del frees at once.
type_in 0 'c = zeros(256*1024*1024, device=cuda)\nc = zeros(256*1024*1024, device=cuda)\ndel c\n' \
    --device "$small" --json
is reserved "$(last_field reserved_bytes)" $((2 * gib))
is allocated "$(last_field allocated_bytes)" 0

# Backward: 1 GiB each for x, y and x.grad; the peak had y's gradient too.
type_in 0 "x = zeros([1,1024,1024,256], requires_grad=True, device='cuda:0')\ny = 5*x\ny.mean().backward()\ntorch.cuda.memory_allocated() // 1024**2, torch.cuda.max_memory_allocated() // 1024**2\n" \
    --device "$small" --json
is figures "$(last_field output)" '"(3072, 4096)\n"'

# At most two temporaries of a chain are live; both are freed at its end.
type_in 0 'x = zeros(1024*1024, device=cuda)\n((x * 2) * 3) * 4;\ntorch.cuda.max_memory_allocated() // 1024**2, torch.cuda.memory_allocated() // 1024**2\n' \
    --device "$small" --json
is figures "$(last_field output)" '"(12, 4)\n"'

# Functions have local names, and release what these hold.
type_in 0 'n = 1\ndef made(count, grows=False):\n  n = zeros(count, 1024, 1024, device=cuda)\n  if grows and count > 1:\n    return made(count - 1, grows=True) + 1\n  elif not grows:\n    return 0\n  else:\n    return 1\n\nmade(3, grows=True), made(7), n, torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated() // 1024**2\n' \
    --device "$small" --json
is output "$(last_field output)" '"(3, 0, 1, 0, 28)\n"'

# break ends loops, and conditions accept tensors of one element.
type_in 0 'x = zeros(1, device=cuda)\nwhile True:\n  x += 1\n  if x == ones(1, device=cuda): continue\n  if not x.item() < 3: break\n\nx.item()\n' \
    --device "sim:8GiB" --json
is output "$(last_field output)" '"3.0\n"'

# Python's math, on numbers and on tensors of one element.
type_in 0 'import math\nd_k = 64\nx = ones(2, 3) / math.sqrt(d_k)\nx.sum().item(), math.pi, -math.inf, math.log(8, 2), math.log10(1000), math.ceil(7 / 2), math.floor(-0.5), math.pow(2, 3), math.prod(x.shape), math.isnan(math.nan), math.exp(zeros(1))\n' \
    --device "$small" --json
is output "$(last_field output)" \
    '"(0.75, 3.141592653589793, -inf, 3.0, 3.0, 4, -1, 8.0, 6, True, 1.0)\n"'
for sum in 'sqrt(-1)' 'log(0)' 'log(2, -1)' 'pow(0, -1)' 'pow(-8, 1 / 3)' \
    'sin(math.inf)' 'exp(1000)' 'ceil(math.inf)' 'sqr(2)' 'sqrt("4")'; do
    echo "math.$sum"
done >"$tmp/sums"
type_in 1 "$(cat "$tmp/sums")" --device "$small"
is domain "$(grep -c '^ValueError: math domain error' "$tmp/err")" 6
stderr_has '^OverflowError: math range error'
stderr_has '^OverflowError: cannot convert float infinity to integer'
stderr_has "^AttributeError: module 'math' has no attribute 'sqr'"
stderr_has '^TypeError: must be real number, not str'

# Infinite recursion and wrong arguments are reported.
type_in 1 'def f(n): return f(n)\n\nf(1)\n' --device "$small"
stderr_has '^RecursionError: '
type_in 1 'def f(n, m=2): pass\n\nf(1, k=3)\n' --device "$small"
stderr_has "^TypeError: f() got an unexpected keyword argument 'k'"
type_in 1 'def f(n, m=2): pass\n\nf(1, 2, 3)\n' --device "$small"
stderr_has '^TypeError: f() takes from 1 to 2 positional arguments but 3 were'

# A loop's names remain, its temporaries do not; `_` is an ordinary name.
type_in 0 'for _ in range(9): y = randn(1024, 1024, device=cuda)\n_, tuple(y.shape)\n' \
    --device "$small" --json
is output "$(last_field output)" '"(8, (1024, 1024))\n"'
is allocated "$(last_field allocated_bytes)" 4194304

# Lines within a block and within brackets are one statement.
type_in 0 'losses = []\nfor i in range(3):\n    t = ones(4)\n\n    losses.append(t)\nlen(losses)\nq = (1,\n2)\nq\n' --json
is output "$(last_field output)" '"(1, 2)\n"'
type_in 0 'l = []\nfor i in range(3):\n  l.append(i)\n  l.append(9)\nl\n' --json
is output "$(last_field output)" '"[0, 9, 1, 9, 2, 9]\n"'

# Values are computed.
type_in 0 'x = tensor([1.0, 2.0, 3.0], requires_grad=True)\n(x * x).sum().backward()\nx.grad\n(x @ x).item(), 7 // -2, 7 % -2, 2 ** -1\n'
stdout_has '^tensor(\[2., 4., 6.\])$'
stdout_has '^(14.0, -4, -1, 0.5)$'

# A training step: the loss falls.
type_in 0 "torch.manual_seed(3)\nm = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to('cuda')\nopt = optim.SGD(m.parameters(), lr=0.5, momentum=0.9)\nx = randn(32, 8, device=cuda); t = (randint(2, (32,)) * 1).to(cuda)\nlosses = []\nfor i in range(40):\n    loss = F.cross_entropy(m(x), t)\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n    losses.append(loss.item())\n\nlosses[-1] < losses[0] / 2\n" --json
is falls "$(last_field output)" '"True\n"'

# Modes: nothing is recorded within no_grad.
type_in 0 'x = ones(2, requires_grad=True)\nwith torch.no_grad(): y = x * 2\ny.requires_grad, (x * 2).requires_grad\n' --json
is modes "$(last_field output)" '"(False, True)\n"'

# The panel fits the page width: the statement first, then its output.
type_in 0 "a = zeros(256,1024,1024, device=cuda); print('made')\n" \
    --device "$small"
stdout_has '^> a = zeros(256,1024,1024, device=cuda)$'
stdout_has '^    allocated .* 1.00 GiB  +1.00 GiB  ██*'
is 'the second' "$(sed -n '/^> print/,/host/p' "$tmp/out" | sed -n 2p)" made
LC_ALL=C
type_in 0 'a = zeros(256,1024,1024, device=cuda)\n' --device "$small"
stdout_has '^    allocated .* 1.00 GiB  +1.00 GiB  ##*-*[.]*$'
LC_ALL=C.UTF-8

# Errors show the line, with a caret below, and the session continues.
type_in 1 'a = zros(3)\na = zeros(3)\na\n'
stderr_has '^    a = zros(3)$'
stderr_has '^        ^^^^$'
stderr_has "^NameError: name 'zros' is not defined. Did you mean: 'zeros'?$"
stdout_has '^tensor(\[0., 0., 0.\])$'
type_in 1 'a = zeros(2) + (1 + zros(2))\n'
stderr_has '^                        ^^^^$'
type_in 1 'a = zeros(3)\na.bakward()\nzeros(2, devise=cuda)\n1 +\nx = zeros(2)[5]\nzeros(2) + zeros(3)\n'
stderr_has 'Tensor.bakward is not part of the lab; it has backward '
stderr_has "^TypeError: zeros() got an unexpected keyword argument 'devise'"
stderr_has '^SyntaxError: invalid syntax'
stderr_has '^IndexError: index 5 is out of bounds for dimension 0 with size 2'
stderr_has '^larder.lab.InvalidError: add: The size of tensor a (2) must match'
is errors "$(grep -c 'Error: ' "$tmp/err")" 5
grep -q 'larder/lab' "$tmp/err" && say_failed 'shows lines of the lab'

# What an error held is freed before memory is shown, and `_` holds nothing.
type_in 1 'zeros(1024, device=cuda).bakward()\ndef f(x): return x.nothing\nf(zeros(1024, device=cuda))\nzeros(1024, device=cuda)\n' \
    --device "$small" --json
is allocated "$(sed -n 's/.*"allocated_bytes": \([0-9]*\).*/\1/p' "$tmp/out" | tr '\n' ' ')" \
    '0 0 0 0 '

# It is Python: classes, comprehensions, f-strings, try, modules, decorators.
type_in 0 'import os.path, sys\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, 2)\n\n    def forward(self, x):\n        return self.fc(x)\n\n@torch.no_grad()\ndef run(net):\n    return net(ones(3, 4)).shape\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    print("caught")\nfinally:\n    text = """two\n\nlines"""\nf"{run(Net())} {[i * i for i in range(3)]}", len(text)\n' \
    --device "$small" --json
is lines "$(wc -l <"$tmp/out")" 5
is output "$(sed -n '4s/.*"output": \("[^"]*"\).*/\1/p' "$tmp/out")" '"caught\n"'
stdout_has "'torch.Size(\[3, 2\]) \[0, 1, 4\]', 10"

# A file piped in shows the figures that `lab run` shows for it.
listing=tests/python/programs/accumulation.py
figures() {
    grep -o '"host_bytes.*"allocated_bytes": [0-9]*' "$1" |
        grep -o '"[hra][a-z]*_bytes": [0-9]*'
}
"$larder" lab run --device sim:1GiB --each-statement --json "$listing" \
    >/dev/null 2>"$tmp/run"
last="lab --json <$listing"
"$larder" lab --device sim:1GiB --json <"$listing" >"$tmp/out" 2>&1
[ "$(figures "$tmp/out" | wc -l)" -gt 9 ] || say_failed 'shows no figures'
is figures "$(figures "$tmp/out")" "$(figures "$tmp/run")"

# Out of memory is explained, and nothing is lost.
type_in 1 'a = zeros(1024**3, device=cuda)\nb = zeros(2 * 1024**3, device=cuda)\na.shape\n' \
    --device "$small" --json
is ok "$(sed -n 's/.*"ok": \([a-z]*\),.*/\1/p' "$tmp/out" | tr '\n' ' ')" \
    'true false true '
stdout_has 'Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 8.00 GiB'
is allocated "$(last_field allocated_bytes)" $((4 * gib))

# The prompt's own commands.
type_in 0 'a = zeros(2, 3, device=cuda)\nvars\nsegments\nmemory\nhelp\nhelp Linear\ndevice\n' \
    --device "$small"
stdout_has '^  a            (2, 3)                   float32  cuda       24 B$'
stdout_has '^  small  2.00 MiB     512 B  █░'
stdout_has 'Larder CUDA memory summary'
stdout_has '^torch.cuda:$'
stdout_has '^  torch.nn.Linear(in_features, out_features, bias=True, '
stdout_has "^  $small$"
type_in 0 'a = zeros(2, device=cuda)\nreset\ndevice sim:1GiB,backing=none\nmemory = 3\nmemory\nquit\nwrong(\n' --json
is lines "$(wc -l <"$tmp/out")" 6
is output "$(sed -n 5p "$tmp/out" | grep -o '"output": "[^"]*"')" \
    '"output": "3\n"'
is reserved "$(sed -n 2p "$tmp/out" | grep -o '"reserved_bytes": [0-9]*')" \
    '"reserved_bytes": 0'
type_in 3 'import sys\nsys.exit(3)\nwrong(\n' --json
is lines "$(wc -l <"$tmp/out")" 2
type_in 1 'device sim:lots\nsnapshot x.html\nhelp Linaer\n'
stderr_has "'lots' is not a capacity"
stderr_has "ends with .json or .pickle, but 'x.html' does not"
stderr_has "there is no 'Linaer'; did you mean 'Linear'?"

# Snapshots.
type_in 0 "a = zeros(3, device=cuda)\nb = zeros(5 * 1024**2, device=cuda); del b\nsnapshot $tmp/one.json\n" \
    --device "$small" --snapshot "$tmp/two.json"
for name in one two; do
    python3 - "$tmp/$name.json" >"$tmp/out" 2>&1 <<'PYTHON' || say_failed "$(cat "$tmp/out")"
import json, sys
s = json.load(open(sys.argv[1]))
seg = s["segments"]
assert [x["segment_type"] for x in seg] == ["small", "large"], seg
assert [x["total_size"] for x in seg] == [2 << 20, 20 << 20], seg
assert seg[0]["blocks"][0]["state"] == "active_allocated"
assert seg[0]["blocks"][0]["requested_size"] == 12
assert [sum(b["size"] for b in x["blocks"]) for x in seg] == [2 << 20, 20 << 20]
events = [e for e in s["device_traces"][0] if e["action"] != "snapshot"]
assert [e["action"] for e in events] == ["segment_alloc", "alloc",
    "segment_alloc", "alloc", "free_requested", "free_completed"], events
assert events[1]["user_metadata"] == "a = zeros(3, device=cuda)", events
mark = s["external_annotations"][0]
assert mark["name"] == "a = zeros(3, device=cuda)", mark
# The start of the recording: only later allocations are included.
assert mark["time_us"] <= events[0]["time_us"], mark
PYTHON
done

expect 2 lab --snapshot x.html
stderr_has "snapshot 'x.html': its name must end with .json or .pickle"
expect 2 lab --device sim:lots
stderr_has "'lots' is not a capacity"
expect 2 lab --device cuda:0
expect 2 lab --policy best
stderr_has 'best'
expect 2 lab --conf colour:red
stderr_has 'colour'
expect 2 lab --seed 0
stderr_has "seed '0' is not a number from 1"
expect 2 lab rnu
stderr_has "unexpected 'rnu'; expected list, run"
expect 2 lab --device sim:1GiB run 0
stderr_has "options follow 'run'$"
type_in 2 'a = 1\n' --snapshot /nowhere/x.json
stderr_has '/nowhere/x.json cannot be written'

finish
