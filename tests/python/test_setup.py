"""The set-up installs what is missing as root, and names the exact command otherwise. No package index is asked here:
programs of the system are replaced by small scripts."""

import os
import subprocess

import pytest

from conftest import PROJECT


@pytest.fixture
def machine(tmp_path):
    """Runs the set-up on a machine where one package is missing."""

    def run(*arguments: str, root: bool, sudo: bool, missing: str = "libisal-dev"):
        programs = {
            "dpkg-query": f'for last; do :; done; [ "$last" = "{missing}" ] && exit 1; printf installed',
            "id": "echo 0" if root else "echo 1000",
            "sudo": 'printf "%s\\n" "sudo $*" >> ' + f"{tmp_path}/calls; " + ("exit 0" if sudo else "exit 1"),
            "apt-get": f'printf "%s\\n" "apt-get $*" >> {tmp_path}/calls',
        }
        for name, body in programs.items():
            path = tmp_path / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
        env = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
        done = subprocess.run([PROJECT / "tools/setup.sh", *arguments], capture_output=True, text=True, env=env)
        calls = tmp_path / "calls"
        return done, calls.read_text() if calls.exists() else ""

    return run


def test_root_installs_what_is_missing(machine):
    done, calls = machine("build", root=True, sudo=False)
    assert done.returncode == 0, done.stderr
    assert "install -y --no-install-recommends libisal-dev" in calls
    assert "sudo" not in calls


def test_sudo_without_a_question_is_used(machine):
    done, calls = machine("build", root=False, sudo=True)
    assert done.returncode == 0, done.stderr
    assert "sudo apt-get" in calls and "libisal-dev" in calls


def test_without_root_the_exact_command_is_named(machine):
    done, calls = machine("build", root=False, sudo=False)
    assert done.returncode == 1
    assert "apt-get update && apt-get install -y --no-install-recommends libisal-dev" in done.stderr
    assert "apt-get" not in calls


def test_with_everything_there_nothing_is_called(machine):
    done, calls = machine("build", root=True, sudo=True, missing="none")
    assert done.returncode == 0
    assert calls == "" and done.stdout == ""


def test_check_only_reports(machine):
    done, calls = machine("build", "--check", root=True, sudo=True)
    assert done.returncode == 1
    assert calls == "" and "libisal-dev" in done.stdout


def test_an_unknown_task_is_refused(machine):
    done, _ = machine("lunch", root=True, sudo=True)
    assert done.returncode == 2
