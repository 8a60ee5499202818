"""The wait for data: DataLoader's __next__, in process and with workers."""

import functools
import time

from torch.utils.data import dataloader


def install(session):
    iterator = dataloader._BaseDataLoaderIter
    original = iterator.__next__
    recorder, steps = session.recorder, session.steps
    scopes = {}

    def scope_of(kind):
        scope = scopes.get(kind)
        if scope is None:
            scope = scopes[kind] = recorder.Scope(kind.__name__, category="data_loading")
        return scope

    @functools.wraps(original)
    def __next__(self):
        sampler = getattr(self, "_index_sampler", None)
        steps.loader_begins(sampler)
        fed_again = session.experiment.batch_of(sampler) if session.experiment is not None else None
        if fed_again is not None:
            steps.loader_ends(0, sampler)
            return fed_again
        start = time.perf_counter_ns()
        active = recorder.is_active()
        if active:
            for worker in getattr(self, "_workers", ()):
                recorder.python_worker(worker.pid)
        if active and not session.ops.running:  # torch's own range is in its trace
            with scope_of(type(self)):
                batch = original(self)
        else:
            batch = original(self)
        steps.loader_ends(time.perf_counter_ns() - start, sampler)
        if session.experiment is not None:
            session.experiment.loaded(sampler, batch)
        return batch

    iterator.__next__ = __next__

    def uninstall():
        if iterator.__next__ is __next__:
            iterator.__next__ = original

    return uninstall
