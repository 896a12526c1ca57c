"""Lines by sys.monitoring (PEP 669): Python 3.12 and newer. Each line costs one call for each test that executes it."""
import sys


class MonitoredLines:
    @staticmethod
    def free_tool():
        """A tool id that no debugger, profiler or coverage tool has; None when all are taken."""
        return next((tool for tool in (4, 3) if sys.monitoring.get_tool(tool) is None), None)

    def __init__(self, files, tool):
        monitoring = sys.monitoring
        self._files = files
        self._tool = tool
        self._seen = None
        # Code is kept so that its id stays its own. Code objects compare by content, which is slow and not meant here.
        self._paths = {}
        monitoring.use_tool_id(tool, "agentfleet")
        monitoring.register_callback(tool, monitoring.events.PY_START, self._code)
        monitoring.register_callback(tool, monitoring.events.LINE, self._line)
        # From the first moment on: also a generator that was made between two tests has to be known.
        monitoring.set_events(tool, monitoring.events.PY_START)

    def start(self):
        self._seen = {}
        sys.monitoring.restart_events()

    def stop(self):
        """The lines since start: path -> numbers."""
        seen, self._seen = self._seen or {}, None
        return seen

    def _code(self, code, offset):
        if id(code) not in self._paths and self._files.path(code.co_filename) is not None:
            path = self._files.wanted(code, sys._getframe(1))
            if path is not None:
                self._paths[id(code)] = (path, code)
                sys.monitoring.set_local_events(self._tool, code, sys.monitoring.events.LINE)
        return sys.monitoring.DISABLE

    def _line(self, code, line):
        seen = self._seen
        known = self._paths.get(id(code))
        if seen is not None and known is not None:
            lines = seen.get(known[0])
            if lines is None:
                lines = seen.setdefault(known[0], set())
            lines.add(line)
        return sys.monitoring.DISABLE
