"""One test at a time: its lines, and the file they go to."""
import json
import os

test_variable = "AGENTFLEET_TRACE_TEST"

_open, _write, _close, _getpid = os.open, os.write, os.close, os.getpid
_dumps = json.dumps
_max_id = 512
_max_lines = 100_000
# What one process may write about passing tests, and in all.
_max_passing_bytes = 24 * 1024 * 1024
_max_bytes = 48 * 1024 * 1024


class Recorder:
    def __init__(self, out, lines):
        self._out = out
        self._lines = lines
        self._test = None
        self._pid = 0
        self._written = 0

    def begin(self, test):
        """Starts to record; False inside of another test, whose lines these are."""
        if self._test is not None or not test or len(test) > _max_id:
            return False
        self._test, self._pid = test, _getpid()
        try:
            os.environ[test_variable] = test  # for the programs that it starts
        except (ValueError, UnicodeError):
            pass
        self._lines.start()
        return True

    def end(self, outcome):
        """Writes the test; None leaves it out."""
        lines = self._lines.stop()
        test, self._test = self._test, None
        os.environ.pop(test_variable, None)
        if self._pid != _getpid():  # a copy of the process, made by the test, that came back here
            self._save({"test": test, "part": True, "covered": _covered(lines)}, True)
        elif outcome is not None:
            self._save({"test": test, "outcome": outcome, "covered": _covered(lines)}, outcome == "Failed")

    def begin_part(self, test):
        self._test = test
        self._lines.start()

    def end_part(self):
        self._save({"test": self._test, "part": True, "covered": _covered(self._lines.stop())}, True)

    def _save(self, record, important):
        if record.get("part") and not record["covered"]:
            return
        line = (_dumps(record, separators=(",", ":")) + "\n").encode("ascii")
        if self._written + len(line) > (_max_bytes if important else _max_passing_bytes):
            return
        self._written += len(line)
        # Opened for each line: a test may close all files, and a crash loses nothing.
        name = os.path.join(self._out, "%d.jsonl" % _getpid())
        file = _open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            _write(file, line)
        finally:
            _close(file)


def _covered(lines):
    covered = []
    room = _max_lines
    for path in sorted(lines):
        numbers = sorted(lines[path].copy())[:room]  # a thread of the test may still be running
        room -= len(numbers)
        if numbers:
            covered.append({"path": path, "lines": numbers})
    return covered[:4096]
