"""The prompt's commands that are not Python: help, vars, memory, ..."""

import difflib
import functools
import inspect
import re
import shutil
import textwrap

from larder.lab import Tensor
from larder.lab import torch_stand_in as torch
from larder.lab.names import public
from larder.lab.segments import draw
from larder.lab.sizes import size


class WordError(Exception):
    """A command's argument is wrong."""


# ---- help --------------------------------------------------------------------

_SECTIONS = (
    ("torch:", "torch", torch),
    ("torch.cuda:", "torch.cuda", torch.cuda),
    ("torch.nn (nn):", "torch.nn", torch.nn),
    ("torch.nn.functional (F):", "torch.nn.functional", torch.nn.functional),
    ("torch.optim (optim):", "torch.optim", torch.optim),
    ("of a tensor:", "Tensor", Tensor),
    ("of a module:", "Module", torch.nn.Module),
)

_EXAMPLES = """\
Python, with the lab as torch; 'torch.' may be left out:

  a = torch.zeros(256, 1024, 1024, device='cuda')
  b = a.to('cpu'); del a
  for i in range(9): y = randn(200, 300, device=cuda)
  m = nn.Sequential(nn.Linear(784, 512), nn.ReLU()).to('cuda')
  m(randn(64, 784, device=cuda)).mean().backward()
  with no_grad(): y = x * 2

Commands:"""


_INDENTED = {"initial_indent": "  ", "subsequent_indent": "  "}


def _overview(width):
    print(_EXAMPLES)
    for name, (argument, text, _) in WORDS.items():
        print(f"  {name + ' ' + argument:<22} {text}")
    for title, _, owner in _SECTIONS:
        print(f"\n{title}")
        print(textwrap.fill(" ".join(public(owner)), width, **_INDENTED))
    print("\n'help NAME' has the arguments of one.")


def _signature(value):
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    given = list(signature.parameters.values())
    if given and given[0].name == "self":
        given = given[1:]
    return str(signature.replace(parameters=given))


def _describe(prefix, name, value):
    print(f"  {prefix}.{name}{_signature(value) if callable(value) else ''}")
    text = (inspect.getdoc(value) or "").partition("\n\n")[0]
    if text and not inspect.ismodule(value):
        print("      " + " ".join(text.split()))


def _help(prompt, name):
    if not name:
        _overview(prompt.options.width or shutil.get_terminal_size().columns)
        return
    last = name.rpartition(".")[2]
    found = [
        (prefix, getattr(owner, last))
        for _, prefix, owner in _SECTIONS
        if last in public(owner)
    ]
    if name in WORDS:
        argument, text, _ = WORDS[name]
        print(f"  {name} {argument}\n      {text}")
    for prefix, value in found:
        _describe(prefix, last, value)
    if not found and name not in WORDS:
        every = {one for section in _SECTIONS for one in public(section[2])}
        near = difflib.get_close_matches(last, every | set(WORDS), 1)
        hint = f"did you mean '{near[0]}'?" if near else "'help' lists all"
        raise WordError(f"there is no '{name}'; {hint}")


# ---- vars --------------------------------------------------------------------


def _describe_value(value):
    if isinstance(value, Tensor):
        gradient = "  requires grad" if value.requires_grad else ""
        if value.is_leaf and value.grad is not None:
            gradient += ", has one"
        kind = str(value.dtype).partition(".")[2]
        bytes_held = size(value.untyped_storage().nbytes())
        return (
            f"{str(tuple(value.shape)):<24} {kind:<8} {value.device.type:<5} "
            f"{bytes_held:>9}{gradient}"
        )
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    return repr(value).partition("\n")[0]


def _vars(prompt, argument):
    names = prompt.names.defined()
    if not names:
        print("  no names yet")
    for name in names:
        print(f"  {name:<12} {_describe_value(prompt.names.space[name])}")


# ---- the others --------------------------------------------------------------


def _memory(prompt, argument):
    print(prompt.session.summary(), end="")


def _segments(prompt, argument):
    options = prompt.options
    print(draw(prompt.session, options.width or 80, options.ascii), end="")


def _snapshot(prompt, path):
    if not re.fullmatch(r".+\.(json|pickle)", path):
        raise WordError(
            f"a snapshot's name ends with .json or .pickle, but '{path}' does "
            "not"
        )
    prompt.session.write_snapshot(path)
    print(f"  written to {path}")


def _device(prompt, spec):
    if spec:
        prompt.begin_anew(spec)
    else:
        print(f"  {prompt.device}")


def _reset(prompt, argument):
    prompt.begin_anew(prompt.device)


def _quit(prompt, argument):
    prompt.status = 0


WORDS = {
    "help": ("[NAME]", "list what there is, or explain one name", _help),
    "vars": ("", "the names that are set, and their tensors", _vars),
    "memory": ("", "the allocator's summary table", _memory),
    "segments": ("", "a map of the segments and their blocks", _segments),
    "snapshot": (
        "FILE",
        "write the history and the current state to a file",
        _snapshot,
    ),
    "device": ("[SPEC]", "start again on another device", _device),
    "reset": ("", "start again on this device", _reset),
    "quit": ("", "exit; also Ctrl-D", _quit),
}

_LINE = re.compile(r"\s*([a-z]+)(?:\s+(\S.*?))?\s*")


def find_word(line, defined):
    """The function for the line's command, to be called with the prompt; None if
    the line is a statement, like `memory = 3`."""
    match = _LINE.fullmatch(line)
    if match is None or match[1] not in WORDS or match[1] in defined:
        return None
    name, argument = match[1], match[2] or ""
    is_path = name == "snapshot" and argument[:1] in "./"
    if argument and argument[0] in "=(.[,+-*/;:" and not is_path:
        return None
    return functools.partial(_call, WORDS[name][2], argument)


def _call(function, argument, prompt):
    function(prompt, argument)
