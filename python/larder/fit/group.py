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


# ---- how a collective makes an output from an input --------------------------------


def _repeat(rank, whole, part):
    """The gathered result: this rank's part, once for each rank."""
    count = max(1, part.numel())
    for one in whole.view(-1).split(count):
        one.copy_(part.reshape(-1)[: one.numel()])


def _fill(rank, parts, given):
    for part in parts:
        part.copy_(given)


def _gather(rank, parts, given):
    """Like NCCL, which gathers in one tensor."""
    whole = _flat(parts)
    _fill(rank, parts, given)
    del whole


def _take_part(rank, part, whole):
    part.copy_(whole.reshape(-1)[: part.numel()].view(part.shape))


def _take(rank, part, given):
    part.copy_(given[rank])


def _reduce(rank, part, given):
    whole = _flat(given)
    _take(rank, part, given)
    del whole


def _take_if_as_large(rank, output, given):
    if output.numel() == given.numel():
        output.copy_(given.view(output.shape))


def _collective(make):
    """Of one output, or of several from an input each."""

    def collective(self, outputs, inputs, *options, **named):
        self._use([outputs, inputs])
        is_one = isinstance(outputs, torch.Tensor)
        for output, given in [(outputs, inputs)] if is_one else zip(outputs, inputs):
            make(self.rank(), output, given)
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

    # ---- made results ---------------------------------------------------------

    allgather = _collective(_gather)
    _allgather_base = allgather_into_tensor_coalesced = _collective(_repeat)
    gather = _collective(_fill)
    reduce_scatter = _collective(_reduce)
    _reduce_scatter_base = reduce_scatter_tensor_coalesced = _collective(_take_part)
    scatter = _collective(_take)
    alltoall = alltoall_base = _collective(_take_if_as_large)

    def allgather_coalesced(self, outputs, inputs, opts=None):
        self.gather(list(zip(*outputs)), inputs)
        return _done(outputs)

    # ---- their names since 2.15 ---------------------------------------------

    all_gather_single = gather_single = gather_into_tensor = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base
