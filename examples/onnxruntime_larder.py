# An ONNX Runtime session on Larder's memory: MODEL.onnx is the argument.
import sys

import larder.onnxruntime
import onnxruntime

options = larder.onnxruntime.options(device=0, conf="limit:4GiB")
session = onnxruntime.InferenceSession(
    sys.argv[1], providers=[("CUDAExecutionProvider", options)]
)
print([i.name for i in session.get_inputs()])
