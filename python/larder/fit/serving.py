"""The plan of a serving engine: what vLLM says of its memory as it starts.

Its own words are read, not its objects: they come from any of its processes and
have stayed the same from release to release.  With several workers each says the
same of its own card: the largest need counts, and the smallest cache."""

import re

# Only then does it name the parts of what it measured.
ENVIRONMENT = {"VLLM_LOGGING_LEVEL": "DEBUG"}

_GIB = 1 << 30
_SIZE = r"([\d.]+) ?GiB"

# (key, which of several counts, pattern of a size, a number of tokens, a factor)
_NEEDS = (
    ("weights_bytes", max, r"Model loading took " + _SIZE),
    ("activation_bytes", max, r"torch peak memory increase: " + _SIZE),
    ("nontorch_bytes", max, r"non-torch forward increase memory: " + _SIZE),
    ("graph_bytes", max, r"Graph capturing finished .* took " + _SIZE),
    ("kv_cache_bytes", min, r"Available KV cache memory: " + _SIZE),
)
_TOKENS = re.compile(r"GPU KV cache size: ([\d,]+) tokens")
_CONCURRENCY = re.compile(
    r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x"
)
_READY = re.compile(r"init engine .* took ")
_NAMES = {
    "weights_bytes": "weights",
    "activation_bytes": "peak activation",
    "nontorch_bytes": "beyond PyTorch",
    "graph_bytes": "graphs",
    "kv_cache_bytes": "KV cache",
}


def _number(text):
    return int(text.replace(",", ""))


class Plan:
    """Reads an engine's log, line by line."""

    def __init__(self):
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
        self.is_ready = self.is_ready or _READY.search(line) is not None

    def told(self):
        """The numbers by name; what was not said is None.  None without a cache."""
        if "kv_cache_bytes" not in self._told:
            return None
        keys = [key for key, _, _ in _NEEDS] + ["kv_cache_tokens", "max_concurrency"]
        return {key: self._told.get(key) for key in keys}

    def write(self, out):
        """The plan in words: out() takes a line."""
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
