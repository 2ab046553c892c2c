# RMM, and what stands on it (cuDF, cuML), on Larder's memory.
import cudf
import larder.rmm
import rmm

resource = larder.rmm.resource(device=0)
rmm.mr.set_current_device_resource(resource)
frame = cudf.DataFrame({"a": range(1000000)})
print(frame.a.sum())
print(larder.rmm.adapter_of(resource).summary())
