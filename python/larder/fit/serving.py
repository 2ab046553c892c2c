"""The plan of a serving engine: the memory figures that vLLM logs as it starts.

Its log is read, not its objects: log lines come from all of its processes and have
been stable across releases.  With several workers each logs its own card: the
largest need counts, and the smallest cache."""

import re

_GIB = 1 << 30
_SIZE = r"(-?[\d.]+) ?GiB"

# (key, which of several counts, pattern of a size, a number of tokens, a factor)
_NEEDS = (
    ("weights_bytes", max, r"Model loading took " + _SIZE),
    ("activation_bytes", max, r"torch peak memory increase: " + _SIZE),
    ("nontorch_bytes", max, r"non-torch forward increase memory: " + _SIZE),
    ("consumed_bytes", max, r"total consumed \(from mem_get_info\): " + _SIZE),
    ("graph_bytes", max, r"Graph capturing finished .* took " + _SIZE),
    ("kv_cache_bytes", min, r"Available KV cache memory: " + _SIZE),
)
_TOKENS = re.compile(r"GPU KV cache size: ([\d,]+) tokens")
_CONCURRENCY = re.compile(
    r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x"
)
_READY = re.compile(r"init engine .* took ")
# Errors that mean that it does not start for lack of memory.
_NO_ROOM = (
    "No available memory for the cache blocks",
    "larger than the available KV cache memory",
    "less than desired GPU memory utilization",
    "OutOfMemoryError",
    "insufficient memory to allocate",
)
_LACKING = re.compile(
    rf"{_SIZE} KV cache is needed.* available KV cache memory \({_SIZE}\)"
)
_LONGEST = re.compile(r"estimated maximum model length is (\d+)")
# The engine's arguments that affect memory.
_ARGUMENTS = (
    "model", "load_format", "dtype", "quantization", "kv_cache_dtype",
    "gpu_memory_utilization", "max_model_len", "max_num_seqs",
    "max_num_batched_tokens", "tensor_parallel_size", "pipeline_parallel_size",
    "data_parallel_size", "block_size", "enforce_eager", "cpu_offload_gb",
)
_NAMES = {
    "weights_bytes": "weights",
    "activation_bytes": "peak activation",
    "nontorch_bytes": "beyond PyTorch",
    "kept_bytes": "kept besides weights",
    "graph_bytes": "graphs",
    "kv_cache_bytes": "KV cache",
}


def _number(text):
    return int(text.replace(",", ""))


def is_ready(line):
    """Whether the line says that the engine has started."""
    return _READY.search(line) is not None


def _plain(value):
    """A value that JSON can represent."""
    return value if isinstance(value, (int, float, type(None))) else str(value)


def arguments_of(engine):
    """Those of an EngineArgs, whose fields vary between releases."""
    return {
        name: _plain(getattr(engine, name))
        for name in _ARGUMENTS
        if hasattr(engine, name)
    }


class Plan:
    """Reads an engine's log, line by line."""

    def __init__(self):
        self.arguments = None  # of the engine, by name
        self.error = ""  # why it does not start
        self.is_short = False  # of memory
        self.lacks_bytes = 0  # for the cache, if it says so
        self.longest = None  # tokens of a request, if one is too long
        self.is_ready = False  # it said that it has started
        self.length = None  # tokens of a request
        self._told = {}

    def _keep(self, key, which, value):
        self._told[key] = which(self._told.get(key, value), value)

    def read(self, line):
        for key, which, pattern in _NEEDS:
            found = re.search(pattern, line)
            if found:
                self._keep(key, which, round(float(found[1]) * _GIB))
        found = _TOKENS.search(line)
        if found:
            self._keep("kv_cache_tokens", min, _number(found[1]))
        found = _CONCURRENCY.search(line)
        if found:
            self.length = _number(found[1])
            self._keep("max_concurrency", min, float(found[2]))
        self.is_ready = self.is_ready or is_ready(line)

    def note(self, told):
        """A message from one of its processes: `arguments`, or `text` and
        `error`."""
        self.arguments = told.get("arguments", self.arguments)
        self.read(told.get("text", ""))
        if "error" in told:
            self._fail(told["error"])

    def _fail(self, error):
        """The first error is the cause of the others."""
        if not self.error:
            self.error = error
        self.is_short = self.is_short or any(one in error for one in _NO_ROOM)
        found = _LACKING.search(error)
        if found:
            lacks = float(found[1]) - float(found[2])
            self.lacks_bytes = max(self.lacks_bytes, round(lacks * _GIB))
        found = _LONGEST.search(error)
        if found:
            self.longest = int(found[1])

    def cache_bytes(self):
        """Negative if the weights and activations alone do not fit."""
        return self._told.get("kv_cache_bytes")

    def told(self):
        """The numbers by name; None for any that was not logged. None without a
        cache."""
        if self._told.get("kv_cache_bytes", -1) < 0:
            return None
        keys = [*_NAMES, "kv_cache_tokens", "max_concurrency"]
        told = {key: self._told.get(key) for key in keys}
        if "consumed_bytes" in self._told:
            weights = self._told.get("weights_bytes", 0)
            told["kept_bytes"] = max(0, self._told["consumed_bytes"] - weights)
        return told

    def write(self, out):
        """Write the plan as text: out() takes a line."""
        told = self.told() or {}
        for key, name in _NAMES.items():
            if told.get(key) is not None:
                out(f"  {told[key] / _GIB:8.2f} GiB  {name}")
        if told.get("kv_cache_tokens") is not None:
            out(f"  {told['kv_cache_tokens']:>12,}  tokens in the KV cache")
        if told.get("max_concurrency") is not None:
            out(
                f"  {told['max_concurrency']:>12.2f}  requests at once, "
                f"of {self.length:,} tokens each"
            )
