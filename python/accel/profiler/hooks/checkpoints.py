"""torch.save: a scope."""

import torch


def install(session):
    original = torch.save
    call = session.recorder.TimedCall(original, "annotation", "torch.save")
    torch.save = call

    def uninstall():
        if torch.save is call:
            torch.save = original

    return uninstall
