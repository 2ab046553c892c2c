"""Storages of fake tensors.  Each is an allocation for as long as PyTorch
holds the storage."""

import weakref

import torch

from larder.fit import gpu, ledger
from larder.fit.scopes import scopes


class Storages:
    def __init__(self, book):
        self.book = book
        self.stream = 0
        self.numbers = {}  # a storage's address -> its allocation
        self._kept = {}  # the same -> a weak reference that frees it
        self.addresses = {}  # allocation -> address on the GPU

    def allocate(self, size, operator, kind=None):
        """Allocate memory that belongs to no tensor."""
        where = ledger.caller()
        address = gpu.allocate(size, self.stream)
        if address is None:
            raise torch.cuda.OutOfMemoryError(gpu.why_it_failed())
        number = self.book.add(
            [
                size,
                self.stream,
                scopes.phase,
                scopes.module(),
                operator,
                *where,
                kind,
                scopes.step,
            ]
        )
        self.addresses[number] = address
        return number

    def release(self, number):
        record = self.book.records[number]
        self.book.drop(number)
        gpu.free(
            self.addresses.pop(number),
            record[ledger.BYTES],
            record[ledger.STREAM],
        )

    def watch(self, tensor, operator):
        """Register the tensor's storage, if it is new or of another size (resize_(),
        out=)."""
        storage = tensor.untyped_storage()
        if storage._cdata in self.numbers:
            self.resized(storage)
        else:
            self._keep(storage, operator)

    def _keep(self, storage, operator):
        key = storage._cdata
        number = self.allocate(storage.nbytes(), operator)
        self.numbers[key] = number
        self._kept[key] = weakref.ref(
            storage, lambda _, key=key, number=number: self._ended(key, number)
        )

    def resized(self, storage):
        """Allocate memory again if the storage's size has changed: what it had is
        freed after that, as it is copied."""
        number = self.numbers.get(storage._cdata)
        if number is None or self.book.records[number][ledger.BYTES] == storage.nbytes():
            return
        self._keep(storage, self.book.records[number][ledger.OPERATOR])
        self.release(number)

    def _ended(self, key, number):
        # A newer storage may have the address.
        if self.numbers.get(key) == number:
            del self.numbers[key]
            del self._kept[key]
        self.release(number)

    def number_of(self, tensor):
        """None for a tensor without memory, or one around others (vmap's)."""
        try:
            return self.numbers.get(tensor.untyped_storage()._cdata)
        except (RuntimeError, NotImplementedError):
            return None

    def say(self, tensor, kind):
        """Record the purpose of the tensor's memory."""
        number = self.number_of(tensor)
        if number is not None:
            self.book.records[number][ledger.KIND] = kind
