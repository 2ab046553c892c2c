"""What Python runs before each program of `larder run --engine stand-in`."""

import importlib.machinery
import importlib.util
import os
import sys


def _run_the_next():
    """The module of this name that this one stands before."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = [p for p in sys.path if os.path.abspath(p or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_run_the_next()
if "LARDER_RUN_SETTINGS" in os.environ:
    from larder.fit.standin import agent

    agent.begin(os.environ["LARDER_RUN_SETTINGS"])
