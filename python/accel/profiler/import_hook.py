"""Runs something right after a module has been imported, without importing it."""

import importlib.abc
import importlib.util
import sys


def when_imported(name: str, action):
    """action() after the first import of `name`; its errors are dropped. Returns what takes the hook out again."""
    finder = _Finder(name, action)
    sys.meta_path.insert(0, finder)
    return finder.leave


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, action):
        self._name, self._action = name, action

    def leave(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name, path=None, target=None):
        if name != self._name:
            return None
        self.leave()
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            _run_after(spec.loader, self._action)
        return spec


def _run_after(loader, action) -> None:
    original = loader.exec_module

    def exec_module(module):
        try:
            del loader.exec_module  # the instance's own; the class has the original
        except AttributeError:
            pass
        original(module)
        try:
            action()
        except Exception:
            pass

    loader.exec_module = exec_module
