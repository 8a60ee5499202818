"""Module calls as scopes: a C callable in the place of nn.Module.__call__.

Dynamo compares mod.__call__.__func__ with the nn.Module.__call__ that it saw when it was imported. So this goes in
before torch._dynamo is imported, or not at all; and it stays where it is once Dynamo has seen it.
"""

import sys
import weakref

import torch
from torch import nn

from accel.profiler.hooks.symbols import input_tag, symbol_of


def install(session):
    if "torch._dynamo" in sys.modules:
        session.note("module calls are not recorded: torch._dynamo was imported before the profiler was enabled")
        return lambda: None
    recorder = session.recorder
    names = ModuleNames(session)
    original = nn.Module.__call__
    call = recorder.ModuleCall(original)
    recorder.set_resolver(names.resolve)
    recorder.set_describe(names.describe)
    nn.Module.__call__ = call

    def uninstall():
        recorder.set_resolver(None)
        recorder.set_describe(None)
        if "torch._dynamo" not in sys.modules and nn.Module.__call__ is call:
            nn.Module.__call__ = original

    return uninstall


class ModuleNames:
    """The path and symbol of each module. The outermost module called names all those below it."""

    def __init__(self, session):
        self.session = session
        self.recorder = session.recorder
        self.alive = {}
        self.texts = {}

    def describe(self, module, argument):
        """The symbol with what it is called with, in windows that record ops: Linear[1024x2048]_bias=True_batch=64[bf16]."""
        text = self.texts.get(id(module))
        return None if text is None else text + input_tag(argument)

    def resolve(self, module):
        if isinstance(module, torch.jit.ScriptModule):
            return
        for path, inner in module.named_modules():
            if id(inner) in self.alive:
                continue
            path = ".".join(part for part in path.split(".") if part not in ("_orig_mod", "_checkpoint_wrapped_module"))
            symbol = symbol_of(inner)
            text = f"{path}: {symbol}" if path else symbol
            category = "compute" if inner is module and self.session.on_host else "module"
            self.recorder.name_module(inner, category, text)
            self.texts[id(inner)] = text
            self.alive[id(inner)] = weakref.ref(inner, self._forget(id(inner)))

    def _forget(self, address):
        def gone(_reference):
            self.alive.pop(address, None)
            self.texts.pop(address, None)
            self.recorder.forget_module(address)

        return gone
