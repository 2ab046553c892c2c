"""A process group in which only one process exists; the others are assumed to
hold the same data.

A gather repeats this rank's data, and a reduction leaves it unchanged: sizes
and lifetimes match NCCL's groups, values match equal ranks.
"""

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _create_work_from_future

from larder.fit.known import flat


def _done(result):
    future = torch.futures.Future()
    future.set_result(result)
    return _create_work_from_future(future)


def _flat(tensors):
    """NCCL uses one tensor for a list of tensors."""
    return torch.empty(
        sum(t.numel() for t in tensors),
        dtype=tensors[0].dtype,
        device=tensors[0].device,
    )


def _repeat(whole, part):
    """The gathered result: this rank's part, once for each rank."""
    count = max(1, part.numel())
    for one in whole.view(-1).split(count):
        one.copy_(part.reshape(-1)[: one.numel()])


def _take_part(part, whole):
    part.copy_(whole.reshape(-1)[: part.numel()].view(part.shape))


def _fill(parts, given):
    """Like NCCL, which gathers in one tensor."""
    whole = _flat(parts)
    for part in parts:
        part.copy_(given)
    del whole


def _take_if_alike(part, given):
    if part.shape == given.shape:
        part.copy_(given)


def _pairwise(fill):
    """A collective of several outputs, each from an input."""

    def collective(self, outputs, inputs, opts=None):
        self._use(outputs)
        for output, given in zip(outputs, inputs):
            fill(output, given)
        return _done(outputs)

    return collective


class Group(dist.ProcessGroup):
    def __init__(self, rank, size):
        super().__init__(rank, size)
        self._size = size
        self.is_used = False  # for tensors on the GPU

    def size(self):
        return self._size

    def getBackendName(self):
        return "larder"

    @property
    def pg_name(self):
        return dist.distributed_c10d._world.pg_names[self]

    @property
    def group_name(self):
        return self.pg_name

    def _use(self, tensors):
        if self._size > 1 and any(t.is_cuda for t in flat(tensors)):
            self.is_used = True

    # ---- several calls as one --------------------------------------------

    def _get_backend(self, device):
        return self

    def _start_coalescing(self, device):
        pass

    def _end_coalescing(self, device):
        return _done(None)

    # ---- unchanged results --------------------------------------------------

    def _keep(self, tensors, opts=None):
        self._use(tensors)
        return _done(tensors)

    allreduce = allreduce_coalesced = broadcast = reduce = _keep

    def barrier(self, opts=None):
        return _done(None)

    def send(self, tensors, to, tag=0):
        return self._keep(tensors)

    recv = send

    def recv_anysource(self, tensors, tag=0):
        return self._keep(tensors)

    # ---- what is gathered ------------------------------------------------

    allgather = _pairwise(_fill)
    allgather_into_tensor_coalesced = _pairwise(_repeat)

    def _allgather_base(self, whole, part, opts=None):
        self._use([whole])
        _repeat(whole, part)
        return _done(whole)

    def allgather_coalesced(self, outputs, inputs, opts=None):
        self._use(inputs)
        for parts in outputs:
            for part, given in zip(parts, inputs):
                part.copy_(given)
        return _done(outputs)

    def gather(self, outputs, inputs, opts=None):
        self._use(inputs)
        for parts in outputs:
            for part in parts:
                part.copy_(inputs[0])
        return _done(outputs)

    # ---- what is scattered -----------------------------------------------

    def reduce_scatter(self, outputs, inputs, opts=None):
        self._use(outputs)
        for part, given in zip(outputs, inputs):
            whole = _flat(given)
            part.copy_(given[self.rank()])
            del whole
        return _done(outputs)

    def _reduce_scatter_base(self, part, whole, opts=None):
        self._use([part])
        _take_part(part, whole)
        return _done(part)

    reduce_scatter_tensor_coalesced = _pairwise(_take_part)

    def scatter(self, outputs, inputs, opts=None):
        self._use(outputs)
        for part, given in zip(outputs, inputs):
            part.copy_(given[self.rank()])
        return _done(outputs)

    # ---- what is exchanged -----------------------------------------------

    def alltoall_base(self, output, given, to=(), of=(), opts=None):
        self._use([output])
        if output.numel() == given.numel():
            output.copy_(given.view(output.shape))
        return _done(output)

    alltoall = _pairwise(_take_if_alike)

    # ---- their names since 2.15 ---------------------------------------------

    all_gather_single = gather_single = gather_into_tensor = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base
