"""Where a training step ends, without user code.

An optimizer that has stepped makes a step due; it ends where the next work begins (the loader is asked for a batch, a
module is called), so that what the loop does after the optimizer belongs to it. Several optimizers: the one with most
steps counts. A step that GradScaler leaves out is one all the same. Without any optimizer (inference) each batch is a step;
an evaluation of a job that trains is one step of its own. AutoProfiler.step() switches all of this off.
"""

import functools

from torch.optim import optimizer as optimizers


def install(session):
    steps, recorder = session.steps, session.recorder
    scopes = {}

    def scope_of(kind):
        scope = scopes.get(kind)
        if scope is None:
            category = "compute" if session.on_host else "optimizer"
            scope = scopes[kind] = recorder.Scope(f"Optimizer.step#{kind.__name__}.step", category=category)
        return scope

    def begins(optimizer, _args, _kwargs):
        steps.optimizer_begins()
        if recorder.is_active() and not session.ops.running:  # torch's own range is in its trace
            scope_of(type(optimizer)).__enter__()

    def stepped(optimizer, _args, _kwargs):
        scope = scopes.get(type(optimizer))
        if scope is not None:
            scope.__exit__(None, None, None)
        steps.optimizer_stepped(id(optimizer))

    handles = [optimizers.register_optimizer_step_pre_hook(begins), optimizers.register_optimizer_step_post_hook(stepped)]
    undo_scaler, undo_made = _watch_scaler(steps), _watch_new_optimizers(steps)

    def uninstall():
        for handle in handles:
            handle.remove()
        undo_scaler()
        undo_made()

    return uninstall


def _watch_new_optimizers(steps):
    """An optimizer that exists says that the job trains, before its first step: what comes until then is no inference."""
    original = optimizers.Optimizer.__init__

    @functools.wraps(original)
    def __init__(self, *args, **kwargs):
        original(self, *args, **kwargs)
        steps.optimizer_made()

    optimizers.Optimizer.__init__ = __init__

    def undo():
        if optimizers.Optimizer.__init__ is __init__:
            optimizers.Optimizer.__init__ = original

    return undo


def _watch_scaler(steps):
    from torch.amp import grad_scaler

    original_step, original_scale = grad_scaler.GradScaler.step, grad_scaler.GradScaler.scale

    @functools.wraps(original_step)
    def step(self, optimizer, *args, **kwargs):
        before = steps.count_of(id(optimizer))
        result = original_step(self, optimizer, *args, **kwargs)
        if steps.count_of(id(optimizer)) == before:
            steps.optimizer_stepped(id(optimizer))
        return result

    @functools.wraps(original_scale)
    def scale(self, outputs):
        scaled = original_scale(self, outputs)
        steps.losses.scaled(outputs, scaled)
        return scaled

    grad_scaler.GradScaler.step, grad_scaler.GradScaler.scale = step, scale

    def undo():
        if grad_scaler.GradScaler.step is step:
            grad_scaler.GradScaler.step = original_step
        if grad_scaler.GradScaler.scale is scale:
            grad_scaler.GradScaler.scale = original_scale

    return undo
