"""Acts on a module right after its first import, so that a program that never imports a test runner pays nothing."""
import sys


class AfterImport:
    def __init__(self, actions):
        self._actions = dict(actions)
        for name in list(self._actions):
            if name in sys.modules:
                self._actions.pop(name)(sys.modules[name])

    def find_spec(self, name, path=None, target=None):
        action = self._actions.pop(name, None)
        if action is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                _then(spec.loader, action)
                return spec
        return None


def _then(loader, action):
    original = getattr(loader, "exec_module", None)
    if original is None:
        return

    def exec_module(module):
        original(module)
        action(module)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # a built-in loader: no test runner comes from one
        pass
