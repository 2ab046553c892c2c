"""ONNX Runtime's CUDA memory from Larder:

    options = larder.onnxruntime.options()
    session = onnxruntime.InferenceSession(
        "model.onnx", providers=[("CUDAExecutionProvider", options)])

Each session has an allocator of its own: memory that it frees is reused at once, in
the order of the single stream it computes on."""

import ctypes

from larder.adapters import Adapter, OrtFunctions, check, library


class Options(dict):
    """Options of the CUDA provider, for one session."""

    def __init__(self, device, adapter):
        self.adapter = adapter
        self._functions = OrtFunctions()
        check(
            library.larder_ort_functions_take(
                adapter.handle, 0, ctypes.byref(self._functions)
            )
        )
        super().__init__(
            device_id=str(device),
            gpu_external_alloc=str(self._functions.alloc),
            gpu_external_free=str(self._functions.free),
            gpu_external_empty_cache=str(self._functions.empty_cache),
        )

    def release(self):
        """Release the memory, after the session was destroyed."""
        check(
            library.larder_ort_functions_release(
                ctypes.byref(self._functions)
            )
        )
        self.adapter.close()


def options(device=0, conf=None, policy=None):
    """Provider options for a session on a device, given by number or by
    Larder's name for it.  Other options can be added, except
    user_compute_stream, which ONNX Runtime does not allow together with an
    allocator.  At most 16 can exist at a time."""
    spec = f"cuda:{device}" if isinstance(device, int) else device
    number = device if isinstance(device, int) else 0
    return Options(number, Adapter(spec, conf, policy))
