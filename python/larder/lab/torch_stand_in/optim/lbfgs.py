"""L-BFGS: a direction from recent gradients, and several calls of the closure
in each step."""

from larder.lab.constructing import ALL, constructor
from larder.lab.failures import InvalidError, not_covered
from larder.lab.making import cat, zeros
from larder.lab.recording import enable_grad, no_grad
from larder.lab.torch_stand_in.optim.optimizer import Optimizer, after_step


class LBFGS(Optimizer):
    """PyTorch's algorithm without a line search."""

    __init__ = constructor(
        "params", passed=ALL, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7,
        tolerance_change=1e-9, history_size=100, line_search_fn=None,
    )

    def _made_from(self, params, line_search_fn, **options):
        if line_search_fn is not None:
            raise not_covered(
                f"LBFGS's line_search_fn={line_search_fn!r}", ["None"]
            )
        options["max_eval"] = options["max_eval"] or options["max_iter"] * 5 // 4
        Optimizer.__init__(self, params, options)
        if len(self.param_groups) != 1:
            raise InvalidError("LBFGS has one group of parameters")
        self._params = self.param_groups[0]["params"]

    def _gradient(self):
        return cat(
            [
                zeros(p.numel(), device=p.device)
                if p.grad is None
                else p.grad.reshape(-1)
                for p in self._params
            ]
        )

    def _move(self, size, direction):
        at = 0
        for param in self._params:
            part = direction[at : at + param.numel()].view_as(param)
            param.add_(part, alpha=size)
            at += param.numel()

    @staticmethod
    def _direction(state, gradient):
        """The two loops over the history."""
        direction = gradient.neg()
        weights = []
        for change, step, ratio in reversed(state["pairs"]):
            weights.append(step.dot(direction) * ratio)
            direction.add_(change, alpha=-weights[-1].item())
        direction.mul_(state["scale"])
        for change, step, ratio in state["pairs"]:
            weight = weights.pop() - change.dot(direction) * ratio
            direction.add_(step, alpha=weight.item())
        return direction

    @staticmethod
    def _remember(state, gradient, history_size):
        change = gradient.sub(state["gradient"])
        step = state["direction"].mul(state["size"])
        along = change.dot(step).item()
        if along <= 1e-10:
            return
        pairs = state["pairs"]
        if len(pairs) == history_size:
            pairs.pop(0)
        pairs.append((change, step, 1 / along))
        state["scale"] = along / change.dot(change).item()

    def _next(self, state, group, gradient):
        """Store the direction and the step length in the state."""
        if state["n_iter"] == 1:
            state["direction"] = gradient.neg()
            total = gradient.abs().sum().item()
            state["size"] = min(1.0, 1 / total) * group["lr"]
        else:
            self._remember(state, gradient, group["history_size"])
            state["direction"] = self._direction(state, gradient)
            state["size"] = group["lr"]
        state["gradient"] = gradient.clone()

    @no_grad()
    def step(self, closure):
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        if not state:
            state.update(n_iter=0, pairs=[], scale=1.0)
        closure = enable_grad()(closure)
        first = loss = closure()
        gradient = self._gradient()
        evaluations = 1
        for _ in range(group["max_iter"]):
            if gradient.abs().max().item() <= group["tolerance_grad"]:
                break
            state["n_iter"] += 1
            self._next(state, group, gradient)
            slope = gradient.dot(state["direction"]).item()
            if slope > -group["tolerance_change"]:
                break
            self._move(state["size"], state["direction"])
            if evaluations >= group["max_eval"]:
                break
            before, loss = float(loss), closure()
            gradient = self._gradient()
            evaluations += 1
            moved = state["direction"].abs().max().item() * state["size"]
            least = group["tolerance_change"]
            if moved <= least or abs(float(loss) - before) < least:
                break
        for told in after_step:
            told(self)
        return first
