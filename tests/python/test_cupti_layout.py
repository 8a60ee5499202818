"""The records of src/runtime/cupti/abi.h lie where NVIDIA's headers of CUDA 13 put them."""

import site
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]

RECORDS = {
    ("KernelRecord", "CUpti_ActivityKernel10"): {
        "registers": "registersPerThread", "start": "start", "end": "end", "device": "deviceId", "context": "contextId",
        "stream": "streamId", "grid": "gridX", "block": "blockX", "static_shared_memory": "staticSharedMemory",
        "dynamic_shared_memory": "dynamicSharedMemory", "correlation": "correlationId", "name": "name",
        "graph_node": "graphNodeId", "graph": "graphId"},
    ("CopyRecord", "CUpti_ActivityMemcpy6"): {
        "copy_kind": "copyKind", "source": "srcKind", "destination": "dstKind", "bytes": "bytes", "start": "start", "end": "end",
        "device": "deviceId", "context": "contextId", "stream": "streamId", "correlation": "correlationId",
        "graph_node": "graphNodeId", "graph": "graphId"},
    ("PeerCopyRecord", "CUpti_ActivityMemcpyPtoP4"): {
        "copy_kind": "copyKind", "source": "srcKind", "destination": "dstKind", "bytes": "bytes", "start": "start", "end": "end",
        "device": "deviceId", "stream": "streamId", "correlation": "correlationId", "graph_node": "graphNodeId", "graph": "graphId"},
    ("SetRecord", "CUpti_ActivityMemset4"): {
        "bytes": "bytes", "start": "start", "end": "end", "device": "deviceId", "context": "contextId", "stream": "streamId",
        "correlation": "correlationId", "memory_kind": "memoryKind", "graph_node": "graphNodeId", "graph": "graphId"},
    ("CallRecord", "CUpti_ActivityAPI"): {
        "function": "cbid", "start": "start", "end": "end", "thread": "threadId", "correlation": "correlationId"},
}

VALUES = {
    "kKindMemcpy": "CUPTI_ACTIVITY_KIND_MEMCPY", "kKindMemset": "CUPTI_ACTIVITY_KIND_MEMSET",
    "kKindKernel": "CUPTI_ACTIVITY_KIND_KERNEL", "kKindDriver": "CUPTI_ACTIVITY_KIND_DRIVER",
    "kKindRuntime": "CUPTI_ACTIVITY_KIND_RUNTIME", "kKindConcurrentKernel": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
    "kKindMemcpyPeer": "CUPTI_ACTIVITY_KIND_MEMCPY2", "kFlushForced": "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED",
    "kDomainDriver": "CUPTI_CB_DOMAIN_DRIVER_API", "kDomainRuntime": "CUPTI_CB_DOMAIN_RUNTIME_API",
    "kThreadIdOfSystem": "CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM", "kNoMoreRecords": "CUPTI_ERROR_MAX_LIMIT_REACHED",
}


def headers():
    for folder in site.getsitepackages():
        for found in sorted(Path(folder).glob("nvidia/cu*/include")):
            if (found / "cupti.h").exists() and (found / "cuda.h").exists():
                return found
    pytest.fail("the headers of CUPTI are not in this environment: run tools/setup.sh test")


def test_every_used_field_lies_where_the_headers_say(tmp_path):
    lines = ["#include <cupti.h>", "#include <cstddef>", '#include "runtime/cupti/abi.h"', "namespace ours = accel::runtime::cupti;"]
    for (ours, theirs), fields in RECORDS.items():
        for mine, named in fields.items():
            lines.append(f"static_assert(offsetof(ours::{ours}, {mine}) == offsetof({theirs}, {named}));")
        lines.append(f"static_assert(sizeof(ours::{ours}) <= sizeof({theirs}));")
    lines += [f"static_assert(static_cast<long>(ours::{mine}) == static_cast<long>({theirs}));" for mine, theirs in VALUES.items()]
    source = tmp_path / "layout.cpp"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["c++", "-std=c++20", "-fsyntax-only", f"-I{SOURCE / 'src'}", "-isystem", str(headers()), str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
