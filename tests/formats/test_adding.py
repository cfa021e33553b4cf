"""A format is added as CONTRIBUTING.md says, to a copy of the package, and does what the others do."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.testing import Compactions, Project

ROOT = Path(__file__).parents[2]
TRIP = {"title": "Trip", "mine": {"z": 1, "a": None}, "left": ["pack", "lock the door"]}


def blocks() -> tuple[str, str, str]:
    """The lines of signs, the format, and the commands."""
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Add a format\n")[1]
    found = re.findall(r"```python\n(.*?)```", section.split("\n## ")[0], re.DOTALL)
    signs, form, commands = found
    return signs, form, commands


def insert(path: Path, after: str, line: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(after) == 1
    path.write_text(text.replace(after, f"{after}{line}\n"), encoding="utf-8")


@pytest.fixture
def todo(holdfast_project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose commands and hooks come from a copy of the package with one more format."""
    copy = tmp_path / "copy" / "holdfast"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(holdfast.__file__).parent, copy, ignore=ignored)
    signs, form, commands = blocks()
    sign, files = signs.splitlines()
    insert(copy / "formats/signs.py", "SIGNS: dict[str, tuple[str, ...]] = {\n", sign)
    insert(copy / "formats/signs.py", "STATE_FILES: dict[str, tuple[str, ...]] = {\n", files)
    insert(copy / "cli/main.py", "MODULES = {\n", '    "todo": ("todo",),')
    (copy / "formats/todo").mkdir()
    (copy / "formats/todo/__init__.py").touch()
    (copy / "formats/todo/format.py").write_text(form, encoding="utf-8")
    (copy / "cli/todo.py").write_text(commands, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(copy.parent))
    holdfast_project.write("todo/trip.json", json.dumps(TRIP))
    return holdfast_project


def test_a_format_of_two_fields_is_restored_moved_and_ended(todo: Project) -> None:
    path = todo.root / "todo/trip.json"
    assert "Trip" in todo.run("list").stdout
    assert "valid, format todo" in todo.run("inspect", str(path)).stdout
    cycle = Compactions(todo)(in_process=False)
    assert "pack" in cycle.guidance

    assert "lock the door" in todo.run("done").stdout
    refused = todo.run("approve", check=False)
    assert "'Trip' cannot approve: no command of this format does it" in refused.stderr
    todo.run("note", "Not the red bag")
    assert "Not the red bag" in todo.run("status").stdout
    assert json.loads(path.read_bytes()) == {**TRIP, "left": ["lock the door"]}
    path.write_text("{", encoding="utf-8")  # the last good copy is used
    assert "could not be read" in todo.run("status").stdout
    assert "Workflow completed: Trip" in todo.run("complete").stdout
    assert json.loads(path.read_bytes())["left"] == []
    assert "nothing is left" in todo.run("list", "--all").stdout
    assert "left over" not in todo.run("doctor", check=False).stdout

    refused = todo.run("todo", "done", "-w", "Trip", check=False)
    assert (refused.returncode, "nothing is left" in refused.stderr) == (1, True)


def test_what_is_wrong_with_it_is_named(todo: Project) -> None:
    path = todo.write("todo/trip.json", json.dumps({"title": "Trip", "left": "pack"}))
    told = todo.run("inspect", str(path), check=False).stdout
    assert "left: expected a list, found 'pack'" in told


def test_without_a_group_the_general_commands_point_at_its_file(todo: Project) -> None:
    path = Path(os.environ["PYTHONPATH"], "holdfast/formats/todo/format.py")
    path.write_text(path.read_text("utf-8").replace('    group = "todo"\n', ""), encoding="utf-8")
    refused = todo.run("phase", "next", check=False)
    assert refused.returncode == 1
    assert "'Trip' has another format: todo" in refused.stderr
    assert "Edit its file: todo/trip.json" in refused.stderr
    assert "todo" not in todo.run("next", "--help").stdout  # which ended in a traceback


def test_its_code_passes_the_checks(tmp_path: Path) -> None:
    for number, code in enumerate(blocks()[1:]):
        path = tmp_path / f"block{number}.py"
        path.write_text(code, encoding="utf-8")
        options = ["--config", str(ROOT / "pyproject.toml"), "--ignore", "I001,INP001,ARG002"]
        command = [sys.executable, "-m", "ruff", "check", "--no-cache", *options, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
