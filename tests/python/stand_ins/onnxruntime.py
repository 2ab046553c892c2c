"""As much of ONNX Runtime as an allocator meets: addresses as text."""

import ctypes


class InferenceSession:
    def __init__(self, model, providers):
        options = providers[0][1]
        self.device = int(options["device_id"])
        pointer = ctypes.c_void_p
        self.alloc = ctypes.CFUNCTYPE(pointer, ctypes.c_size_t)(
            int(options["gpu_external_alloc"])
        )
        self.free = ctypes.CFUNCTYPE(None, pointer)(
            int(options["gpu_external_free"])
        )
        self.empty_cache = ctypes.CFUNCTYPE(None)(
            int(options["gpu_external_empty_cache"])
        )
