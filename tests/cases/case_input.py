"""Makes the input files of a case: bytes from the case's text, from a file of the project or from ../shared."""

import gzip
import io
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from case_file import Input

ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[nrt0\\\"])")
SIMPLE_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\", '"': b'"'}


class Skip(Exception):
    """The case cannot run here, and says why."""


def make_input(made: Input, case_dir: Path, work_dir: Path, shared_dir: Path):
    target = work_dir / made.name
    if made.kind == "directory":
        target.mkdir(parents=True)
        return
    if made.kind == "copy":
        data = (case_dir / made.source).read_bytes()
    elif made.kind == "shared":
        source = shared_dir / made.source
        if not source.exists():
            raise Skip(f"{made.source} is not in ../shared here")
        data = source.read_bytes()
    else:
        data = made.body.encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(_apply(data, list(made.modifiers), target.name, work_dir))


def _apply(data: bytes, words: list[str], name: str, work_dir: Path) -> bytes:
    while words:
        word = words.pop(0)
        if word == "escaped":
            data = _unescape(data.decode())
        elif word == "python":
            done = subprocess.run([sys.executable, "-c", data.decode()], cwd=work_dir, capture_output=True, timeout=120)
            if done.returncode != 0:
                raise RuntimeError(f"the python block failed:\n{done.stderr.decode()}")
            data = done.stdout
        elif word == "cut":
            size = int(words.pop(0))
            data = data[:size]
        elif word == "repeat":
            data = data * int(words.pop(0))
        elif word == "flip":
            offset = int(words.pop(0))
            data = data[:offset] + bytes([data[offset] ^ 0xFF]) + data[offset + 1 :]
        elif word == "insert":
            offset, text = int(words.pop(0)), _unescape(words.pop(0))
            data = data[:offset] + text + data[offset:]
        elif word == "replace":
            old, new = _unescape(words.pop(0)), _unescape(words.pop(0))
            if old not in data:
                raise RuntimeError(f"replace: {old!r} does not occur")
            data = data.replace(old, new)
        elif word == "gunzip":
            data = gzip.decompress(data)
        elif word == "gzip":
            data = gzip.compress(data, 6, mtime=0)
        elif word == "gzip-members":
            count = int(words.pop(0))
            size = max(1, -(-len(data) // count))
            data = b"".join(gzip.compress(data[i : i + size], 6, mtime=0) for i in range(0, len(data), size))
        elif word == "zstd":
            data = subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout
        elif word == "zip":
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(zipfile.ZipInfo(_member(name, ".zip")), data, zipfile.ZIP_DEFLATED)
            data = packed.getvalue()
        elif word == "tar.gz":
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w") as archive:
                info = tarfile.TarInfo(_member(name, ".tar.gz"))
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            data = gzip.compress(packed.getvalue(), 6, mtime=0)
    return data


def _member(name: str, suffix: str) -> str:
    member = name.removesuffix(suffix)
    return member if member.endswith(".json") else f"{member}.json"


def _unescape(text: str) -> bytes:
    out, last = [], 0
    for match in ESCAPE.finditer(text):
        out.append(text[last : match.start()].encode())
        code = match.group(1)
        if code[0] == "x":
            out.append(bytes([int(code[1:], 16)]))
        elif code[0] == "u":
            out.append(chr(int(code[1:], 16)).encode())
        else:
            out.append(SIMPLE_ESCAPES[code])
        last = match.end()
    out.append(text[last:].encode())
    return b"".join(out)
