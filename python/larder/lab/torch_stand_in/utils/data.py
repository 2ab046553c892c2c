"""torch.utils.data: data sets, and batches of them on the host."""

from larder.lab import raw
from larder.lab.constructing import constructor
from larder.lab.failures import InvalidError, gate, not_covered
from larder.lab.kinds import float32
from larder.lab.making import randint, randperm, stack, tensor
from larder.lab.tensors import Tensor


class Dataset:
    """Items by index: __getitem__() and __len__()."""

    def __getitem__(self, index):
        raise NotImplementedError("a Dataset needs a __getitem__()")


class TensorDataset(Dataset):
    """Item i is row i of each tensor."""

    def __init__(self, *tensors):
        if len({len(one) for one in tensors}) > 1:
            raise InvalidError("the tensors differ in length")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(one[index] for one in self.tensors)

    def __len__(self):
        return len(self.tensors[0])


class Subset(Dataset):
    """A selection of another data set's items."""

    __init__ = constructor("dataset indices")

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    """Several data sets, one after another."""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __len__(self):
        return sum(len(one) for one in self.datasets)

    def __getitem__(self, index):
        index = range(len(self))[index]
        for one in self.datasets:
            if index < len(one):
                return one[index]
            index -= len(one)
        raise IndexError("the index is beyond the last data set")


class IterableDataset(Dataset):
    """Items in sequence: __iter__()."""


def random_split(dataset, lengths, generator=None):
    """Divide the items at random into parts of these sizes (or fractions, for
    numbers below 1)."""
    total = len(dataset)
    if any(isinstance(n, float) for n in lengths):
        lengths = [int(total * part) for part in lengths]
        for i in range(total - sum(lengths)):
            lengths[i % len(lengths)] += 1
    if sum(lengths) != total:
        raise InvalidError(f"the lengths {list(lengths)} do not add up to {total}")
    indices = iter(randperm(total, generator=generator).tolist())
    return [Subset(dataset, [next(indices) for _ in range(n)]) for n in lengths]


def default_collate(batch):
    """Combine items into a batch: tensors, numbers, or tuples, lists or
    dictionaries of them, stacked along a new dimension."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if isinstance(first, (int, float)):
        return tensor(batch)
    if isinstance(first, str):
        return batch
    if isinstance(first, dict):
        return {
            key: default_collate([item[key] for item in batch]) for key in first
        }
    if isinstance(first, (tuple, list)):
        return [default_collate(list(column)) for column in zip(*batch)]
    if type(first).__module__ == "numpy":
        return stack([tensor(one) for one in batch], 0)
    raise not_covered(f"a batch of {type(first).__name__}")


# ---- which items come next ----


class Sampler:
    """Indices of a data set: __iter__() and __len__()."""

    def __init__(self, data_source=None):
        pass


class SequentialSampler(Sampler):
    __init__ = constructor("data_source")

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    __init__ = constructor(
        "data_source", replacement=False, num_samples=None, generator=None
    )

    def _made_from(self):
        self.num_samples = self.num_samples or len(self.data_source)

    def __iter__(self):
        count = len(self.data_source)
        if self.replacement:
            size = (self.num_samples,)
            found = randint(0, count, size, generator=self.generator)
            return iter(found.tolist())
        order = randperm(count, generator=self.generator).tolist()
        return iter(order[: self.num_samples])

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    __init__ = constructor("indices", generator=None)

    def __iter__(self):
        order = randperm(len(self.indices), generator=self.generator)
        return iter([self.indices[i] for i in order.tolist()])

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    __init__ = constructor("weights num_samples", replacement=True, generator=None)

    def _made_from(self):
        self.weights = tensor(self.weights, dtype=float32)

    def __iter__(self):
        drawn = raw.multinomial(
            self.weights, self.num_samples, self.replacement
        )
        return iter(drawn.tolist())

    def __len__(self):
        return self.num_samples


def _batches(items, size, drop_last):
    """Lists of `size` items; a shorter last one unless drop_last."""
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


class BatchSampler(Sampler):
    __init__ = constructor("sampler batch_size drop_last")

    def __iter__(self):
        return _batches(self.sampler, self.batch_size, self.drop_last)

    def __len__(self):
        count = len(self.sampler)
        if self.drop_last:
            return count // self.batch_size
        return -(-count // self.batch_size)


class _WorkerInfo:
    """The information that get_worker_info() returns."""

    __init__ = constructor("id num_workers dataset")
    seed = property(lambda self: self.id)


_worker = [None]


def get_worker_info():
    return _worker[0]


def _pinned(batch):
    """The batch with its tensors in pinned memory."""
    if isinstance(batch, Tensor):
        return batch if batch.is_cuda else batch.pin_memory()
    if isinstance(batch, dict):
        return {key: _pinned(one) for key, one in batch.items()}
    if isinstance(batch, (list, tuple)) and not hasattr(batch, "_fields"):
        return type(batch)(_pinned(one) for one in batch)
    return batch


class DataLoader:
    """Batches of a data set, created on the host on request.

    Workers are accepted: their work is done here, in the order in which they
    would deliver it, which costs the device the same.
    """

    __init__ = constructor(
        "dataset", passed="shuffle sampler batch_sampler collate_fn",
        by_name={
            "prefetch_factor": None, "persistent_workers": False, "pin_memory_device": "",
        },
        batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
        collate_fn=None, pin_memory=False, drop_last=False, timeout=0,
        worker_init_fn=None, multiprocessing_context=None, generator=None,
    )

    def _made_from(self, shuffle, sampler, batch_sampler, collate_fn):
        if self.persistent_workers and not self.num_workers:
            raise InvalidError("persistent_workers needs num_workers > 0")
        dataset, batch_size = self.dataset, self.batch_size
        self._is_stream = isinstance(dataset, IterableDataset)
        self.collate_fn = collate_fn or (
            default_collate
            if batch_size is not None or batch_sampler is not None
            else lambda item: item
        )
        if self._is_stream:
            sampler = None
        elif sampler is None:
            sampler = (
                RandomSampler(dataset, generator=self.generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        elif shuffle:
            raise InvalidError("sampler and shuffle are mutually exclusive")
        self.sampler = sampler
        if batch_sampler is None and sampler is not None and batch_size:
            batch_sampler = BatchSampler(sampler, batch_size, self.drop_last)
        self.batch_sampler = batch_sampler

    def __len__(self):
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        count = len(self.dataset)
        return -(-count // self.batch_size) if self.batch_size else count

    def _chosen(self):
        """Lists of items, one for each batch, or single items."""
        if self._is_stream and self.batch_size:
            yield from _batches(self.dataset, self.batch_size, self.drop_last)
        elif self._is_stream:
            yield from self.dataset
        elif self.batch_sampler is not None:
            for indices in self.batch_sampler:
                yield [self.dataset[i] for i in indices]
        else:
            for index in self.sampler:
                yield self.dataset[index]

    def _begin_workers(self):
        for number in range(self.num_workers):
            if self.worker_init_fn is not None:
                _worker[0] = _WorkerInfo(
                    number, self.num_workers, self.dataset
                )
                self.worker_init_fn(number)
        _worker[0] = None

    def __iter__(self):
        self._begin_workers()
        for chosen in self._chosen():
            batch = self.collate_fn(chosen)
            yield _pinned(batch) if self.pin_memory else batch


__getattr__ = gate("torch.utils.data", globals())
