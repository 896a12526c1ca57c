"""Lines by sys.settrace: for Python before 3.12."""
import sys
import threading


class TracedLines:
    def __init__(self, files):
        self._files = files
        self._seen = None
        self._local = {}
        self._before = (None, None)

    def start(self):
        self._seen = {}
        self._local = {}
        self._before = (sys.gettrace(), getattr(threading, "_trace_hook", None))
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self):
        """The lines since start: path -> numbers."""
        sys.settrace(self._before[0])
        threading.settrace(self._before[1])
        seen, self._seen = self._seen or {}, None
        return seen

    def _call(self, frame, event, arg):
        code = frame.f_code
        if self._seen is None or self._files.path(code.co_filename) is None:
            return None
        path = self._files.wanted(code, frame)
        if path is None:
            return None
        local = self._local.get(path)
        if local is None:
            lines = self._seen[path] = set()
            local = self._local[path] = _adding(lines.add)
        return local


def _adding(add):
    def local(frame, event, arg):
        if event == "line":
            add(frame.f_lineno)
        return local

    return local
