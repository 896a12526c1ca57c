"""Where unittest and pytest run one test. What they print, return and raise stays as it is."""
import functools
import os


def actions(recorder):
    """Module name -> what to do when it has been imported."""
    return {
        "unittest.case": lambda module: _unittest_tests(module.TestCase, recorder),
        "unittest.suite": lambda module: _unittest_fixtures(module.TestSuite, recorder),
        "_pytest.runner": lambda module: _pytest(module, recorder),
    }


def _pytest(module, recorder):
    original = module.runtestprotocol

    @functools.wraps(original)
    def runtestprotocol(item, *args, **kwargs):
        if not recorder.begin(_node_id(item)):
            return original(item, *args, **kwargs)
        outcome = None
        try:
            reports = original(item, *args, **kwargs)
            outcome = _outcome_of(reports)
            return reports
        finally:
            recorder.end(outcome)

    module.runtestprotocol = runtestprotocol


def _node_id(item):
    """As pytest prints it: relative to the folder it was started in. Its own method for that differs between versions."""
    try:
        root, start = str(item.config.rootpath), str(item.config.invocation_params.dir)
    except AttributeError:
        return item.nodeid
    if root == start:
        return item.nodeid
    path, colons, rest = item.nodeid.partition("::")
    return os.path.relpath(os.path.join(root, path), start) + colons + rest


def _outcome_of(reports):
    if any(report.failed for report in reports):
        return "Failed"
    # An expected failure is reported as skipped.
    if not reports or any(report.skipped for report in reports):
        return None
    return "Passed"


def _unittest_tests(case, recorder):
    original = case.run

    @functools.wraps(original)
    def run(self, result=None):
        if result is None or type(self).__module__ == "unittest.loader" or not recorder.begin(self.id()):
            return original(self, result)
        seen = Seen(result, self)
        outcome = None
        try:
            value = original(self, result)
            outcome = seen.outcome()
            return value
        finally:
            seen.leave()
            recorder.end(outcome)

    case.run = run


def _unittest_fixtures(suite, recorder):
    """A set-up of a class or module that fails is a failed run under the name that unittest prints for it."""

    def wrap(name, id_of, failed_before):
        original = getattr(suite, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def fixture(self, test, result):
            test_id = id_of(test)
            if failed_before(test, result) or not recorder.begin(test_id):
                return original(self, test, result)
            before = len(getattr(result, "errors", ()))
            try:
                return original(self, test, result)
            finally:
                recorder.end("Failed" if len(getattr(result, "errors", ())) > before else None)

        setattr(suite, name, fixture)

    wrap("_handleClassSetUp", _class_name, lambda test, result: getattr(result, "_previousTestClass", None) == type(test))
    wrap("_handleModuleFixture", _module_name, lambda test, result: _module_of(result) == type(test).__module__)


def _class_name(test):
    kind = type(test)
    return "%s.%s" % (kind.__module__, getattr(kind, "__qualname__", kind.__name__))


def _module_name(test):
    return type(test).__module__


def _module_of(result):
    before = getattr(result, "_previousTestClass", None)
    return None if before is None else before.__module__


class Seen:
    """Listens to what a result is told about one test, and passes it on."""

    _methods = ("addFailure", "addError", "addSkip", "addExpectedFailure", "addUnexpectedSuccess", "addSubTest")

    def __init__(self, result, case):
        self._result = result
        self._case = case
        self._failed = False
        self._left_out = False
        self._own = {}
        for name in self._methods:
            if hasattr(result, name):
                self._listen(name)

    def _listen(self, name):
        original = getattr(self._result, name)
        if name in vars(self._result):
            self._own[name] = original

        @functools.wraps(original)
        def told(*args, **kwargs):
            self._note(name, args)
            return original(*args, **kwargs)

        setattr(self._result, name, told)

    def _note(self, name, args):
        if name in ("addFailure", "addError", "addUnexpectedSuccess"):
            self._failed = True
        elif name == "addSubTest":
            self._failed = self._failed or (len(args) > 2 and args[2] is not None)
        elif name == "addExpectedFailure" or (args and args[0] is self._case):
            self._left_out = True

    def outcome(self):
        if self._failed:
            return "Failed"
        return None if self._left_out else "Passed"

    def leave(self):
        for name in self._methods:
            if name in self._own:
                setattr(self._result, name, self._own[name])
            else:
                vars(self._result).pop(name, None)
