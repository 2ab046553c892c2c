"""The engine stand-in of `larder run`: the program's own PyTorch, built for
CUDA, on a simulated driver (docs/EXEC.md).

The program is started as usual, with `hook` first on Python's path.  In
each of its Python processes PyTorch's own recorder of allocations is switched
on when the GPU is first used, and what it recorded is written when the process
ends, or once its steps repeat.
"""
