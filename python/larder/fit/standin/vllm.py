"""In a process of vLLM: passes the engine's log to `larder run` as it starts,
and gives the engine the arguments to be tried.

Messages go through a named pipe, one JSON object per line, so that the lines of
several processes do not mix."""

import ctypes
import glob
import json
import logging
import os
import sys

from larder._after_import import after_import
from larder.fit import serving

# Lines up to this length are written atomically (PIPE_BUF).
_LINE_BYTES = 4096
_TEXT = 1200

_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf")
_TOKENIZERS = (
    "tokenizer*", "vocab*", "*.tiktoken", "tekken.json", "spiece.model",
)


def _have(folder, patterns):
    return any(glob.glob(os.path.join(glob.escape(folder), p)) for p in patterns)


def _folders(model):
    """The folders of the model's files, if they are on this machine."""
    if os.path.isdir(model):
        return [model]
    from huggingface_hub import constants

    cached = "models--" + model.replace("/", "--")
    return glob.glob(
        os.path.join(glob.escape(constants.HF_HUB_CACHE), cached, "snapshots", "*")
    )


class _Log(logging.Handler):
    """Passes each log record on."""

    def __init__(self, tell):
        super().__init__(logging.DEBUG)
        self._tell = tell

    def emit(self, record):
        told = {"text": record.getMessage()[:_TEXT]}
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            first = (str(error).strip().splitlines() or [""])[0]
            told["error"] = f"{type(error).__name__}: {first[:_TEXT]}"
        self._tell(told)


def _attach(log):
    """Sizes are logged at the debug level; handlers still decide what is shown."""
    logger = logging.getLogger("vllm")
    if log not in logger.handlers:
        logger.addHandler(log)
    if not logger.propagate:
        logger.setLevel(logging.DEBUG)


class Engine:
    def __init__(self, options, write):
        """`write`: writes this process's results."""
        self._options = options
        self._write = write
        self._owner = None
        self._pipe = None
        after_import("vllm.logger", self._follow_log)
        after_import("vllm.engine.arg_utils", self._follow_arguments)
        after_import("vllm.v1.worker.gpu_worker", self._follow_worker)

    def _tell(self, told):
        if self._owner != os.getpid():  # also in a fork
            self._owner = os.getpid()
            self._pipe = os.open(self._options.pipe, os.O_WRONLY)
        if serving.is_ready(told.get("text", "")):
            self._write("ready")
        line = json.dumps(told).encode() + b"\n"
        if len(line) <= _LINE_BYTES:
            os.write(self._pipe, line)

    def _follow_log(self):
        from vllm import logger

        log, configure = _Log(self._tell), logger.dictConfig

        def dictConfig(config):
            configure(config)
            _attach(log)

        logger.dictConfig = dictConfig
        _attach(log)

    # ---- arguments ---------------------------------------------------------

    def _follow_arguments(self):
        from vllm.engine.arg_utils import EngineArgs

        # If there are several, the one that an engine is created from.
        make = EngineArgs.create_engine_config

        def create_engine_config(arguments, *rest, **named):
            self._change(arguments)
            self._tell({"arguments": serving.arguments_of(arguments)})
            return make(arguments, *rest, **named)

        EngineArgs.create_engine_config = create_engine_config

    def _change(self, arguments):
        for name, value in self._options.engine_arguments.items():
            if not hasattr(arguments, name):
                raise ValueError(f"vLLM's engine has no argument {name}")
            setattr(arguments, name, value)
        # All ranks of an engine exist on this machine until it is ready.
        if not self._options.ranks_given:
            os.environ["LARDER_NCCL"] = ""
        folders = _folders(arguments.model)
        if arguments.load_format == "auto" and not any(
            _have(folder, _WEIGHTS) for folder in folders
        ):
            arguments.load_format = "dummy"
        if folders and arguments.tokenizer is None and not any(
            _have(folder, _TOKENIZERS) for folder in folders
        ):
            arguments.skip_tokenizer_init = True

    # ---- what PyTorch's allocator does not see -----------------------------

    def _follow_worker(self):
        """Allocate the libraries' own memory while vLLM measures: the table of
        cards says how much."""
        from vllm.v1.worker.gpu_worker import Worker

        measure = Worker.determine_available_memory

        def determine_available_memory(worker):
            sizes = self._options.serving_bytes
            cards = worker.parallel_config.world_size
            _take(max([0] + [size for most, size in sizes if most <= cards]))
            return measure(worker)

        Worker.determine_available_memory = determine_available_memory


def _take(size):
    """Allocate from the driver, until the process ends."""
    for name in ("libcudart.so.12", "libcudart.so.13"):
        try:
            runtime = ctypes.CDLL(name)
        except OSError:
            continue
        pointer = ctypes.c_void_p()
        if size:
            runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size))
        return
    print("larder run: no CUDA runtime to allocate from", file=sys.stderr)
