"""torch.utils.data: data sets, and batches of them on the host."""

from larder.lab.failures import InvalidError, gate, not_covered
from larder.lab.making import randperm, stack, tensor
from larder.lab.tensors import Tensor

_NAMES = [
    "DataLoader",
    "Dataset",
    "Subset",
    "TensorDataset",
    "default_collate",
    "random_split",
]


class Dataset:
    """Items by number: __getitem__() and __len__()."""

    def __getitem__(self, index):
        raise NotImplementedError("a Dataset needs a __getitem__()")


class TensorDataset(Dataset):
    """Item i is row i of each tensor."""

    def __init__(self, *tensors):
        if len({len(one) for one in tensors}) > 1:
            raise InvalidError("the tensors are not of one length")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(one[index] for one in self.tensors)

    def __len__(self):
        return len(self.tensors[0])


class Subset(Dataset):
    """Some items of another data set."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths):
    """The items shared out at random, so many to each part (or such a part of
    all, for numbers below 1)."""
    total = len(dataset)
    if all(isinstance(n, float) for n in lengths):
        lengths = [int(total * part) for part in lengths]
        for i in range(total - sum(lengths)):
            lengths[i % len(lengths)] += 1
    if sum(lengths) != total:
        raise InvalidError(f"the parts {list(lengths)} are not {total} in all")
    indices = iter(randperm(total).tolist())
    return [Subset(dataset, [next(indices) for _ in range(n)]) for n in lengths]


def default_collate(batch):
    """Items that are tensors, numbers, or tuples, lists or dictionaries of
    them, as one of tensors with a dimension more."""
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
    raise not_covered(f"a batch of {type(first).__name__}")


class DataLoader:
    """Batches of a data set, made on the host as they are asked for."""

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=False,
        *,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
    ):
        if num_workers:
            raise not_covered(f"DataLoader's num_workers={num_workers}", ["0"])
        if pin_memory:
            raise not_covered("DataLoader's pin_memory=True", ["False"])
        if batch_size is None or batch_size < 1:
            raise not_covered(
                f"DataLoader's batch_size={batch_size}", ["1 and more"]
            )
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.collate_fn = collate_fn or default_collate

    def __len__(self):
        count = len(self.dataset)
        if self.drop_last:
            return count // self.batch_size
        return -(-count // self.batch_size)

    def __iter__(self):
        count = len(self.dataset)
        order = randperm(count).tolist() if self.shuffle else range(count)
        for batch in range(len(self)):
            chosen = order[batch * self.batch_size :][: self.batch_size]
            yield self.collate_fn([self.dataset[i] for i in chosen])


__getattr__ = gate("torch.utils.data", lambda: _NAMES)
