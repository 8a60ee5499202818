"""Dynamic symbols: a module by its configuration, such as Linear[1024x2048]_bias=True."""


def symbol_of(module) -> str:
    kind = type(module).__name__
    try:
        return kind + _configuration(module)
    except Exception:
        return kind


def _configuration(module) -> str:
    has = lambda name: isinstance(getattr(module, name, None), int)
    if has("in_features") and has("out_features"):
        return f"[{module.in_features}x{module.out_features}]_bias={getattr(module, 'bias', None) is not None}"
    if has("in_channels") and has("out_channels"):
        kernel = getattr(module, "kernel_size", ())
        size = "x".join(str(k) for k in kernel) if isinstance(kernel, tuple) else str(kernel)
        return f"[{module.in_channels}x{module.out_channels}]_k={size}"
    if has("num_embeddings") and has("embedding_dim"):
        return f"[{module.num_embeddings}x{module.embedding_dim}]"
    if has("embed_dim") and has("num_heads"):
        return f"[{module.embed_dim}]_heads={module.num_heads}"
    if has("input_size") and has("hidden_size"):
        return f"[{module.input_size}x{module.hidden_size}]_layers={getattr(module, 'num_layers', 1)}"
    shape = getattr(module, "normalized_shape", None)
    if isinstance(shape, (tuple, list)):
        return "[" + "x".join(str(n) for n in shape) + "]"
    if has("num_features"):
        return f"[{module.num_features}]"
    return ""


SHORT = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16", "int64": "i64", "int32": "i32", "bool": "bool"}


def input_tag(argument) -> str:
    """_batch=64[bf16] of a tensor: its first size, and the type that it is computed in, which autocast decides."""
    import torch

    if not isinstance(argument, torch.Tensor) or argument.dim() == 0:
        return ""
    dtype, device = argument.dtype, argument.device.type
    if dtype.is_floating_point and torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    name = str(dtype).removeprefix("torch.")
    return f"_batch={argument.shape[0]}[{SHORT.get(name, name)}]"
