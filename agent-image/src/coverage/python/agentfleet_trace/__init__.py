"""Which lines of the workspace each test executed: one JSON line for each test, into a file of its own for each process.

Runs in the user's Python, 3.8 or newer, beside the user's tests: it must not be seen by them and must not fail them.
"""
import os
import sys

from .files import Files
from .hooks import AfterImport
from .recorder import Recorder, test_variable
from .runners import actions


def lines_for(files):
    """The cheapest way to see lines that this Python has."""
    if sys.version_info >= (3, 12):
        from .monitoring import MonitoredLines

        tool = MonitoredLines.free_tool()
        if tool is not None:
            return MonitoredLines(files, tool)
    from .tracing import TracedLines

    return TracedLines(files)


def start(out, root):
    recorder = Recorder(out, lines_for(Files(root)))
    test = os.environ.get(test_variable)
    if test:
        # A program that a test started: all it executes belongs to that test.
        import atexit

        recorder.begin_part(test)
        atexit.register(recorder.end_part)
    else:
        sys.meta_path.insert(0, AfterImport(actions(recorder)))
