"""Which code belongs to the workspace."""
import os

_installed = ("site-packages", "dist-packages")
_optimized = 1  # inspect.CO_OPTIMIZED: set for functions, not for modules and class bodies


class Files:
    def __init__(self, root):
        self._root = os.path.realpath(root) + os.sep
        self._known = {}

    def path(self, name):
        """Path below the workspace with /, or None for code of somebody else; `name` is co_filename."""
        try:
            return self._known[name]
        except KeyError:
            path = self._known[name] = self._find(name)
            return path

    def _find(self, name):
        if not name or name[0] == "<":
            return None
        try:
            real = os.path.realpath(name)
            real.encode("utf-8")
        except (OSError, ValueError):
            return None
        if not real.startswith(self._root):
            return None
        parts = real[len(self._root) :].split(os.sep)
        path = "/".join(parts)
        return None if len(path) > 1024 or any(part in _installed for part in parts) else path

    def wanted(self, code, frame):
        """Path of code whose lines count: functions, and a program's own main module, but not what an import runs."""
        path = self.path(code.co_filename)
        if path is None or code.co_flags & _optimized:
            return path
        return path if frame is not None and frame.f_globals.get("__name__") == "__main__" else None
