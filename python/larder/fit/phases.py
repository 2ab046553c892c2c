"""Detects the program's phases: modules, backward, optimizers, steps."""

import weakref

import torch
from torch.nn.modules import module as modules

from larder.fit import ledger
from larder.fit.scopes import scopes


class SteadyState(BaseException):
    """Raised once steps repeat, to end the run."""


class Phases:
    def __init__(self, storages, watcher, before_backward):
        self._storages = storages
        self._watcher = watcher
        self._before_backward = before_backward
        self._known = set()
        self._first = None  # a weak reference to the first optimizer
        self._name = ""  # of its class

    # ---- modules -----------------------------------------------------------

    def _enter(self, module, args):
        if id(module) not in self._known:
            self._learn(module)
        if not scopes._stack and scopes.phase == ledger.OTHER:
            scopes.phase = ledger.FORWARD
        scopes.enter(module)
        self._changed()

    def _leave(self, module, args, result):
        scopes.leave()
        if not scopes._stack and scopes.phase == ledger.FORWARD:
            scopes.phase = ledger.OTHER
        self._changed()

    def _changed(self):
        """Called after each change in what the program does."""

    def _learn(self, root):
        for module in root.modules():
            self._known.add(id(module))
        for parameter in root.parameters():
            self._say(parameter, ledger.PARAMETERS)
        for buffer in root.buffers():
            self._say(buffer, ledger.BUFFERS)

    def _say(self, tensor, kind):
        if isinstance(tensor, torch.Tensor) and tensor.is_cuda:
            self._storages.say(tensor, kind)

    def optimizer_name(self):
        return self._name

    # ---- backward ----------------------------------------------------------

    def _around_backward(self, run):
        def backward(*args, **kwargs):
            self._before_backward()
            before, scopes.phase = scopes.phase, ledger.BACKWARD
            try:
                self._changed()
                return run(*args, **kwargs)
            finally:
                scopes.phase = before
                self._changed()

        return backward

    # ---- optimizers --------------------------------------------------------

    def _before_step(self, optimizer, args, kwargs):
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._say(parameter.grad, ledger.GRADIENTS)
        self._phase = scopes.phase
        scopes.phase = ledger.OPTIMIZER
        self._changed()

    def _after_step(self, optimizer, args, kwargs):
        scopes.phase = self._phase
        for state in optimizer.state.values():
            for value in state.values():
                self._say(value, ledger.STATE)
        if self._first is None or self._first() is None:
            self._first = weakref.ref(optimizer)
            self._name = self._name or type(optimizer).__name__
        if self._first() is optimizer:
            self._end_step()
        self._changed()

    def _end_step(self):
        scopes.forget_stack()
        self._storages.book.mark(f"step {scopes.step}")
        scopes.begin_step()
        if self._watcher.is_steady():
            raise SteadyState

    def install(self):
        modules.register_module_forward_pre_hook(self._enter)
        modules.register_module_forward_hook(self._leave, always_call=True)
        from torch.optim import optimizer

        optimizer.register_optimizer_step_pre_hook(self._before_step)
        optimizer.register_optimizer_step_post_hook(self._after_step)
        engine = torch.autograd.graph
        engine._engine_run_backward = self._around_backward(
            engine._engine_run_backward
        )
        torch.autograd._engine_run_backward = engine._engine_run_backward
