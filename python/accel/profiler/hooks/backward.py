"""backward(): one scope, and the loss that it starts from."""

import torch


def install(session):
    recorder = session.recorder
    original = torch.autograd._engine_run_backward
    call = recorder.TimedCall(original, "compute" if session.on_host else "backward", "backward", session.steps.backward_begins)
    torch.autograd._engine_run_backward = call

    def uninstall():
        if torch.autograd._engine_run_backward is call:
            torch.autograd._engine_run_backward = original

    return uninstall
