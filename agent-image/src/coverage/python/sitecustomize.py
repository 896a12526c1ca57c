"""Starts the line tracer when its variables ask for it, then runs the sitecustomize that would have run without it.

Python imports this file by itself from a folder of PYTHONPATH. Without AGENTFLEET_TRACE_OUT it does nothing of its own.
"""
import os
import sys
from importlib.machinery import PathFinder


def _start():
    out = os.environ.get("AGENTFLEET_TRACE_OUT")
    root = os.environ.get("AGENTFLEET_TRACE_ROOT")
    if not out or not root:
        return
    try:
        from agentfleet_trace import start

        start(out, root)
    except Exception:  # the check has to run as it would without a tracer
        pass


def _leave_path():
    """Takes this folder out of the search path, so that tests see the path that they would see otherwise."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]


def _chain():
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_start()
_leave_path()
_chain()
