#include "history/replay_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace accel::history {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kProgram = R"PY(#!/usr/bin/env python3
"""One op of a recorded job, alone. Written by "accel-profiler kernels replay".

    python3 FILE                    run it, time it, and check that the recorded kernel runs
    python3 FILE --device cpu       without a GPU: only whether the op can be called again
    python3 FILE --calls 1 --no-check   what Nsight Compute is given

Exit status: 0 done, 1 another kernel or another launch ran, 2 the op cannot be called here.
Values are random: kernels whose time depends on values (sparse, sorting, index ops) may take another time.
"""

import argparse
import ast
import json
import sys
import tempfile

import torch

RECORD = json.loads(@RECORD@)

TYPES = {
    "float": torch.float32, "double": torch.float64, "c10::Half": torch.float16, "c10::BFloat16": torch.bfloat16,
    "long int": torch.int64, "long": torch.int64, "int": torch.int32, "short int": torch.int16, "short": torch.int16,
    "signed char": torch.int8, "unsigned char": torch.uint8, "bool": torch.bool,
    "c10::complex<float>": torch.complex64, "c10::complex<double>": torch.complex128,
    "c10::Float8_e4m3fn": getattr(torch, "float8_e4m3fn", None), "c10::Float8_e5m2": getattr(torch, "float8_e5m2", None),
}
# torch's own numbers of element types, as recorded for arguments like dtype=.
NUMBERED = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
            None, torch.complex64, torch.complex128, torch.bool, None, None, None, torch.bfloat16]


class NotHere(Exception):
    pass


def listed(name):
    text = RECORD[name]
    value = json.loads(text) if text else []
    return value if isinstance(value, list) else [value]


def tensor(dims, type_name, strides, device, safe_index):
    dtype = TYPES.get(type_name) or getattr(torch, type_name, None)
    if not isinstance(dtype, torch.dtype):
        raise NotHere(f"element type {type_name!r}")
    strides = strides if len(strides) == len(dims) else None
    made = torch.empty_strided(dims, strides, dtype=dtype, device=device) if strides else torch.empty(dims, dtype=dtype, device=device)
    # Storage that several elements share (an expanded tensor) is filled as a whole.
    flat = made.as_strided((made.untyped_storage().nbytes() // made.element_size(),), (1,), 0)
    if dtype == torch.bool:
        flat.copy_(torch.rand(flat.shape, device=device) > 0.5)
    elif dtype.is_floating_point or dtype.is_complex:
        flat.copy_(torch.randn(flat.shape, device=device) if flat.numel() else flat)
    else:
        flat.copy_(torch.randint(0, max(1, safe_index), flat.shape, device=device))
    return made


def sizes(dims):
    for entry in dims:
        if isinstance(entry, list):
            yield from sizes(entry)
        else:
            yield entry


def concrete_value(text, kind):
    if text == "":
        return None
    if text in ("True", "False"):
        return text == "True"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return float(value) if kind == "float" and isinstance(value, int) else value


def overloads():
    namespace, _, name = RECORD["op"].partition("::")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    if packet is None:
        raise NotHere(f"this PyTorch has no op {RECORD['op']}")
    return [getattr(packet, overload) for overload in packet.overloads()]


def arguments(overload, device):
    """The recorded inputs for this overload; None when it is another one."""
    schema = overload._schema
    dims, types, strides, concrete = listed("dims"), listed("types"), listed("strides"), listed("concrete")
    if len(dims) > len(schema.arguments):
        return None
    known = [size for size in sizes(dims) if size > 0]
    safe_index = min(known) if known else 1
    positional, named = [], {}
    for i, argument in enumerate(schema.arguments):
        kind = str(argument.type)
        recorded = types[i] if i < len(types) else None
        value = None
        if recorded in (None, ""):
            value = argument.default_value if argument.has_default_value() else None
            if value is None and "Tensor" in kind and not kind.startswith("Optional"):
                return None
        elif recorded == "TensorList":
            shapes = dims[i] if i < len(dims) else []
            inner = strides[i] if i < len(strides) else []
            if not shapes:
                raise NotHere("the sizes of its lists of tensors are not recorded")
            value = [tensor(shape, "float", inner[j] if j < len(inner) else [], device, safe_index)
                     for j, shape in enumerate(shapes)]
        elif recorded in ("Scalar", "ScalarList"):
            if "Tensor" in kind:
                return None
            value = concrete_value(concrete[i] if i < len(concrete) else "", kind)
            if value is None:
                value = argument.default_value if argument.has_default_value() else None
            if value is None and not kind.startswith("Optional"):
                return None
            if argument.name == "dtype" and isinstance(value, int) and 0 <= value < len(NUMBERED):
                value = NUMBERED[value]
        else:
            if "Tensor" not in kind:
                return None
            value = tensor(dims[i], recorded, strides[i] if i < len(strides) else [], device, safe_index)
        if argument.kwarg_only:
            if value is not None:
                named[argument.name] = value
        else:
            positional.append(value)
    return positional, named


def callable_op(device):
    said = []
    for overload in overloads():
        try:
            made = arguments(overload, device)
            if made is None:
                continue
            with torch.no_grad():
                overload(*made[0], **made[1])
            return overload, made
        except NotHere:
            raise
        except Exception as error:  # another overload may take these inputs
            said.append(f"{overload}: {error}".splitlines()[0])
    raise NotHere("no overload takes the recorded inputs" + "".join("\n  " + line for line in said[:5]))


def function_name(kernel):
    for noise in ("(anonymous namespace)::", "<unnamed>::"):
        kernel = kernel.replace(noise, "")
    return kernel.split("<")[0].split("(")[0].strip().split(" ")[-1].split("::")[-1]


def kernels_of(call):
    """(name, grid) of every kernel that one call runs, as torch.profiler sees them."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        call()
        torch.cuda.synchronize()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        recorded.export_chrome_trace(file.name)
        events = json.load(open(file.name))["traceEvents"]
    return [(event["name"], "x".join(str(size) for size in event["args"].get("grid", [])))
            for event in events if event.get("cat") == "kernel"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--no-check", action="store_true", help="do not look which kernel runs")
    options = parser.parse_args()
    torch.manual_seed(0)
    try:
        overload, (positional, named) = callable_op(options.device)
    except NotHere as why:
        print(f"{RECORD['op']} cannot be called here: {why}", file=sys.stderr)
        return 2

    def call():
        with torch.no_grad():
            return overload(*positional, **named)

    print(f"{overload} on {options.device}, dims {RECORD['dims']}, types {RECORD['types']}")
    if options.device == "cpu":
        for _ in range(options.calls):
            call()
        print("called without a GPU: whether the recorded kernel runs was not checked")
        return 0
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(options.calls):
        call()
    end.record()
    torch.cuda.synchronize()
    print(f"{begin.elapsed_time(end) / options.calls * 1000:.1f} us a call, launches included")
    if options.no_check:
        return 0
    ran = kernels_of(call)
    wanted = function_name(RECORD["kernel"])
    same_name = [launch for name, launch in ran if function_name(name) == wanted or wanted in name]
    print(f"recorded: {RECORD['kernel']} grid {RECORD['grid'] or 'not recorded'} on {RECORD['device'] or 'an unknown device'}")
    if same_name and (not RECORD["grid"] or RECORD["grid"] in same_name):
        print("the same kernel ran, with the same grid" if RECORD["grid"] else "the same kernel ran")
        return 0
    print("NOT the recorded kernel: " + ("; ".join(f"{name} grid {launch}" for name, launch in ran) or "no kernel ran"))
    print(f"here: {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
)PY";

bool is_aten(std::string_view op) {
  constexpr std::string_view kAten = "aten::";
  return op.starts_with(kAten) && op.size() > kAten.size() &&
         std::all_of(op.begin() + kAten.size(), op.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// Lists of JSON alone; the native recorder writes a single type without a list.
bool is_list(const std::string& text) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  return !parsed.is_discarded() && parsed.is_array();
}

}  // namespace

std::string function_name(const std::string& kernel) {
  std::string text = kernel.substr(0, kernel.find_first_of("<("));
  const std::size_t colons = text.rfind("::");
  if (colons != std::string::npos) text.erase(0, colons + 2);
  return text;
}

Result<std::string> replay_program(const KernelRow& kernel) {
  const Work& work = kernel.identity.work;
  const auto cannot = [](std::string why) { return Error{ErrorCode::invalid_argument, std::move(why), ""}; };
  if (work.op.empty()) {
    return cannot(
        "the kernel cannot be replayed: no op launched it (a replayed graph, or a capture without host ops); record an "
        "eager step");
  }
  if (!is_aten(work.op)) {
    return cannot(
        fmt::format("the kernel cannot be replayed: {} is no op of PyTorch's own library (aten::...)", work.op));
  }
  if (work.dims.empty() || work.types.empty()) {
    return cannot(
        "the kernel cannot be replayed: the capture holds no shapes; record with "
        "torch.profiler.profile(record_shapes=True)");
  }
  if (!is_list(work.dims) || !is_list(work.types))
    return cannot("the kernel cannot be replayed: its shapes are not recorded as torch.profiler records them");
  const ordered_json record{{"op", work.op},
                            {"dims", work.dims},
                            {"types", work.types},
                            {"strides", is_list(work.strides) ? work.strides : ""},
                            {"concrete", is_list(kernel.concrete) ? kernel.concrete : ""},
                            {"kernel", kernel.identity.name},
                            {"grid", kernel.identity.grid},
                            {"block", kernel.identity.block},
                            {"device", work.device}};
  // The text of a JSON string in ASCII is a string of Python too.
  const std::string inner = record.dump(1, ' ', true, ordered_json::error_handler_t::replace);
  const std::string literal = ordered_json(inner).dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  std::string program(kProgram);
  constexpr std::string_view kPlace = "@RECORD@";
  program.replace(program.find(kPlace), kPlace.size(), literal);
  return program;
}

}  // namespace accel::history
