"""Module calls as scopes: a C callable in the place of nn.Module.__call__.

Dynamo compares mod.__call__.__func__ with the nn.Module.__call__ that it saw when it was imported. So this goes in
before torch._dynamo is imported, or not at all; and it stays where it is once Dynamo has seen it.
"""

import sys
import weakref

import torch
from torch import nn

from accel.profiler.hooks.symbols import symbol_of


def install(session):
    if "torch._dynamo" in sys.modules:
        session.note("module calls are not recorded: torch._dynamo was imported before the profiler was enabled")
        return lambda: None
    recorder = session.recorder
    names = ModuleNames(recorder, session.on_host)
    original = nn.Module.__call__
    call = recorder.ModuleCall(original)
    recorder.set_resolver(names.resolve)
    nn.Module.__call__ = call

    def uninstall():
        recorder.set_resolver(None)
        if "torch._dynamo" not in sys.modules and nn.Module.__call__ is call:
            nn.Module.__call__ = original

    return uninstall


class ModuleNames:
    """The path and symbol of each module. The outermost module called names all those below it."""

    def __init__(self, recorder, on_host: bool):
        self.recorder = recorder
        self.root_category = "compute" if on_host else "module"
        self.alive = {}

    def resolve(self, module):
        if isinstance(module, torch.jit.ScriptModule):
            return
        for path, inner in module.named_modules():
            if id(inner) in self.alive:
                continue
            path = ".".join(part for part in path.split(".") if part not in ("_orig_mod", "_checkpoint_wrapped_module"))
            symbol = symbol_of(inner)
            text = f"{path}: {symbol}" if path else symbol
            category = self.root_category if inner is module else "module"
            self.recorder.name_module(inner, category, text)
            self.alive[id(inner)] = weakref.ref(inner, self._forget(id(inner)))

    def _forget(self, address):
        def gone(_reference):
            self.alive.pop(address, None)
            self.recorder.forget_module(address)

        return gone
