"""What README tells to type, the lines that need PyTorch too, with this Python's:
python3 readme.py BUILD"""

import importlib.util
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")

if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed")
    sys.exit(77)
done = subprocess.run(
    [sys.executable, "-B", "tests/python/test_readme.py", os.path.abspath(sys.argv[1])],
    cwd=ROOT,
    env={**os.environ, "LARDER_README_PYTHON": sys.executable},
    capture_output=True,
    text=True,
    check=False,
)
skipped = [line for line in done.stdout.splitlines() if "skipped: needs torch" in line]
if done.returncode or skipped:
    print(done.stdout, done.stderr, sep="\n")
    sys.exit(1)
print("README's lines, those that need PyTorch too")
