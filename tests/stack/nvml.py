"""pynvml as a client of the simulated management library: python3 nvml.py BUILD"""

import os
import subprocess
import sys

PROGRAM = """
import pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
assert n.nvmlDeviceGetHandleByPciBusId(n.nvmlDeviceGetPciInfo(h).busId) is not None
memory = n.nvmlDeviceGetMemoryInfo(h)
print(n.nvmlDeviceGetCount(), n.nvmlDeviceGetName(h), memory.total >> 20,
      n.nvmlDeviceGetCudaComputeCapability(h), len(n.nvmlDeviceGetUUID(h)),
      n.nvmlDeviceGetComputeRunningProcesses(h))
"""
EXPECTED = "2 NVIDIA H100 80GB HBM3 81080 (9, 0) 40 []"


def main(build):
    try:
        import pynvml  # noqa: F401
    except ImportError:
        print("no pynvml (pip install nvidia-ml-py)")
        return 77
    ran = subprocess.run(
        [os.path.join(build, "larder"), "exec", "--quiet", "--sim", "h100,count=2",
         "--", sys.executable, "-c", PROGRAM],
        capture_output=True, text=True,
    )
    print(ran.stderr, ran.stdout.strip())
    return 0 if ran.stdout.strip() == EXPECTED else 1


sys.exit(main(sys.argv[1]))
