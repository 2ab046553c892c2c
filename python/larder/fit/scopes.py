"""Tracks the current module, phase and step of the program."""

import bisect

import torch

from larder.fit import ledger


class Scopes:
    def __init__(self):
        self.phase = ledger.OTHER
        self.step = 0
        self.names = {}  # id of a module -> its name in the outermost one
        self._stack = []
        # The numbers of PyTorch's graph nodes from which on each module created
        # them.
        self._numbers = []
        self._modules = []

    def is_outside(self):
        """Whether no module is running."""
        return not self._stack

    def module(self):
        if self.phase == ledger.BACKWARD:
            return self._module_of_node()
        return self._stack[-1] if self._stack else ""

    def _module_of_node(self):
        node = torch._C._current_autograd_node()
        if node is None or not self._numbers:
            return ""
        at = bisect.bisect_right(self._numbers, node._sequence_nr()) - 1
        return self._modules[at] if at >= 0 else ""

    def _note(self):
        number = torch.autograd._get_sequence_nr()
        name = self._stack[-1] if self._stack else ""
        if self._numbers and self._numbers[-1] == number:
            self._modules[-1] = name
        elif not self._modules or self._modules[-1] != name:
            self._numbers.append(number)
            self._modules.append(name)

    def name_all(self, root):
        self.names = {
            id(module): name or type(root).__name__
            for name, module in root.named_modules()
        }

    def enter(self, module):
        if not self._stack and id(module) not in self.names:
            self.name_all(module)
        self._stack.append(self.names.get(id(module), type(module).__name__))
        self._note()

    def leave(self):
        if self._stack:
            self._stack.pop()
            self._note()

    def forget_stack(self):
        """Clear the stack after an exception left modules without exit hooks."""
        self._stack.clear()

    def begin_step(self):
        self.step += 1
        if self.phase != ledger.BACKWARD and not self._stack:
            self._numbers.clear()
            self._modules.clear()


scopes = Scopes()
