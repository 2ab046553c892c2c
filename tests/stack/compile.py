"""torch.compile in its three modes trains a small model on a simulated H100:
python3 compile.py BUILD"""

import os
import subprocess
import sys

PROGRAM = """
import sys, torch
import torch._inductor.config
if hasattr(torch._inductor.config.test_configs, "max_mm_configs"):
    torch._inductor.config.test_configs.max_mm_configs = 2
nn = torch.nn
model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128),
                      nn.Linear(128, 64)).cuda()
compiled = torch.compile(model, mode=sys.argv[1])
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    compiled(torch.randn(32, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
print(torch.cuda.max_memory_allocated())
"""


def main(build):
    try:
        import torch.version
        import triton  # noqa: F401
    except (ImportError, ValueError) as error:
        print(f"no PyTorch with Triton: {error}")
        return 77
    for mode in ("default", "reduce-overhead", "max-autotune"):
        peaks = []
        for _ in range(3):
            ran = subprocess.run(
                [os.path.join(build, "larder"), "exec", "--quiet", "--sim", "h100",
                 "--", sys.executable, "-c", PROGRAM, mode],
                capture_output=True, text=True,
            )
            if ran.returncode != 0:
                print(mode, ran.stderr)
                return 1
            peaks.append(ran.stdout.split()[-1])
        # The first of a cold cache tries kernels out, in memory.
        if peaks[1] != peaks[2]:
            print(f"{mode}: the peaks of two runs differ: {peaks[1:]}")
            return 1
    print(f"torch {torch.version.__version__}, three modes")
    return 0


sys.exit(main(sys.argv[1]))
