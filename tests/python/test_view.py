"""accel-profiler view serves the newest report to who knows the token, and to nobody else."""

import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

import pytest


@pytest.fixture
def serving(command, tmp_path):
    for name, age in (("old", 100), ("new", 10), ("older", 1000)):
        (tmp_path / name).mkdir()
        file = tmp_path / name / "report.html"
        file.write_text(f"<p>{name}</p>")
        os.utime(file, (2_000_000_000 - age, 2_000_000_000 - age))
    server = subprocess.Popen([command, "view", tmp_path, "--serve"], stdout=subprocess.PIPE, text=True)
    lines = ""
    while "Ctrl-C" not in lines:
        line = server.stdout.readline()
        assert line, lines
        lines += line
    yield server, lines
    if server.poll() is None:
        server.kill()
    server.wait()


def test_the_newest_report_comes_with_the_token_alone(serving):
    _, lines = serving
    url = re.search(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", lines)
    with urllib.request.urlopen(url.group(0), timeout=10) as answer:
        assert answer.read() == b"<p>new</p>"
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert f"ssh -L {url.group(1)}:127.0.0.1:{url.group(1)} " in lines
    root = f"http://127.0.0.1:{url.group(1)}"
    for path in ("/", "/report.html", "/" + "0" * 32 + "/", f"/{url.group(2)}/../", f"/{url.group(2)}/x"):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(root + path, timeout=10)
        assert error.value.code == 404


def test_two_servers_have_different_tokens(serving, command, tmp_path):
    _, lines = serving
    other = subprocess.Popen([command, "view", tmp_path, "--serve"], stdout=subprocess.PIPE, text=True)
    text = "".join(other.stdout.readline() for _ in range(4))
    other.terminate()
    other.wait(timeout=10)
    assert re.search(r"/([0-9a-f]{32})/", text).group(1) not in lines


def test_ctrl_c_ends_it(serving):
    server, _ = serving
    server.send_signal(signal.SIGINT)
    assert server.wait(timeout=10) == 0
