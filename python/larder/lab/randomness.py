"""Random number generators: the session's, and separate ones."""

from ctypes import byref

from larder._library import RandomState, library
from larder.lab.kinds import uint8
from larder.lab.making import tensor
from larder.lab.sessions import opened, session


def state():
    """The state of the random number generator, for restore()."""
    found = RandomState()
    library.lab_random_state_get(opened(), byref(found))
    return found


def restore(kept):
    library.lab_random_state_set(opened(), byref(kept))


def get_rng_state(device=None):
    """The state as a tensor, so that it can be saved."""
    return tensor(list(bytes(state())), dtype=uint8)


def set_rng_state(new_state, device=None):
    restore(RandomState.from_buffer_copy(bytes(new_state.tolist())))


class Generator:
    """A separate random number generator, which is used within `with`."""

    def __init__(self, device="cpu"):
        self.device = device
        self._state = RandomState(1, 0)

    def manual_seed(self, seed):
        self._state = RandomState(seed & (2**64 - 1), 0)
        return self

    def initial_seed(self):
        return self._state.seed

    def seed(self):
        self.manual_seed(state().next + 1)
        return self.initial_seed()

    def get_state(self):
        self._was = None
        with self:
            return get_rng_state()

    def set_state(self, new_state):
        self._state = RandomState.from_buffer_copy(bytes(new_state.tolist()))
        return self

    def __enter__(self):
        session()
        self._was = state()
        restore(self._state)
        return self

    def __exit__(self, *error):
        self._state = state()
        restore(self._was)
