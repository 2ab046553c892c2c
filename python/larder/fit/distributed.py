"""torch.distributed with this process as the first of several, of which no
other exists."""

import functools
import os
import sys

import torch


class Distributed:
    """The process groups.  `world_size`: None if it was not given."""

    def __init__(self, world_size):
        self._world = world_size
        self._groups = []
        if world_size is not None:
            self._tell_environment()
        if torch.distributed.is_available():
            self._install()

    def world_size(self):
        """The size of the first group, which contains all processes; 1 without
        a group."""
        return self._groups[0].size() if self._groups else 1

    def used_sizes(self):
        """The sizes of the groups that were used on the GPU."""
        return [group.size() for group in self._groups if group.is_used]

    def _tell_environment(self):
        size = str(self._world)
        os.environ.update(
            RANK="0", LOCAL_RANK="0", WORLD_SIZE=size, LOCAL_WORLD_SIZE=size
        )
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
        os.environ.setdefault("MASTER_PORT", "29500")

    def _install(self):
        dist = torch.distributed
        dist.Backend.register_backend("larder", self._make, devices=["cpu", "cuda"])
        for owner in (dist, dist.distributed_c10d):
            owner.is_nccl_available = lambda: True
        self._replace("init_process_group", self._init)
        self._replace("new_group", self._new)
        self._replace("recv_object_list", _refuse_objects)
        torch.multiprocessing.spawn = _run_first

    def _make(self, store, rank, size, timeout):
        from larder.fit.group import Group

        self._groups.append(Group(rank, size))
        return self._groups[-1]

    def _replace(self, name, function):
        dist = torch.distributed
        before = getattr(dist, name)
        replaced = functools.wraps(before)(functools.partial(function, before))
        for module, owner in list(sys.modules.items()):
            if module.startswith("torch.distributed"):
                if vars(owner).get(name) is before:
                    setattr(owner, name, replaced)

    def _init(
        self, init, backend=None, init_method=None, timeout=None, world_size=-1,
        rank=-1, *args, **kwargs,
    ):
        if world_size < 1:
            world_size = self._world or int(os.environ.get("WORLD_SIZE", 1))
        if rank < 0:
            rank = int(os.environ.get("RANK", 0))
        store = torch.distributed.HashStore()
        init("larder", store=store, world_size=world_size, rank=rank)

    def _new(self, new, ranks=None, timeout=None, backend=None, *args, **kwargs):
        return new(ranks, backend="larder")


def _refuse_objects(*args, **kwargs):
    raise RuntimeError(
        "recv_object_list(): the other processes are not there to send objects; a "
        "PipelineStage needs none if it is given input_args and output_args"
    )


def _run_first(fn, args=(), nprocs=1, *rest, **kwargs):
    """torch.multiprocessing.spawn(): run the first of its processes in this
    one."""
    return fn(0, *args)
