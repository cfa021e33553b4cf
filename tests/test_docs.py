"""Every command in the README and in the docs is run, as it stands there."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from holdfast.agents.clients import CLAUDE
from holdfast.testing import Project
from otheragents.network import private
from otheragents.programs import VERSIONS, command
from plugin import copy_files
from realclient.install import installed

ROOT = Path(__file__).parents[1]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
HERE = "/path/to/holdfast"  # what the documents call the folder of the repository
# Run by CI itself; a test that ran them would run itself.
TARGETS = {"make demo", "make test"}
BLOCK = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def blocks() -> Iterator[tuple[str, str]]:
    """Each block of commands, with the document that it stands in."""
    for path in DOCS:
        for found in BLOCK.finditer(path.read_text(encoding="utf-8")):
            lines = [line.removeprefix(found[1]) for line in found[2].splitlines()]
            kept = [line for line in lines if line.split("#")[0].strip() not in TARGETS | {""}]
            # Behind "or:" there is another way to do what stands before it.
            others = [line.rpartition("# or: ")[2] for line in kept]
            for each in {"\n".join(kept): None, "\n".join(others): None}:
                if each:
                    yield path.relative_to(ROOT).as_posix(), each


def tools() -> Path:
    """pipx and uv, in an environment of their own that is kept between runs."""
    folder = ROOT / ".cache" / "tools"
    folder.parent.mkdir(exist_ok=True)
    with FileLock(f"{folder}.lock", timeout=300):
        if not all((folder / "bin" / name).exists() for name in ("pipx", "uv")):
            venv.create(folder, clear=True, with_pip=True)
            pip = [folder / "bin" / "python", "-m", "pip"]
            subprocess.run([*pip, "install", "--quiet", "pipx", "uv"], check=True)
    return folder / "bin"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with what a reader of the documents has, and nothing of this machine's own."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, target in {
        "holdfast": Path(sys.executable).parent / "holdfast",
        "claude": installed(CLAUDE.tried[-1]),
        "pipx": tools() / "pipx",
        "uv": tools() / "uv",
        "python3": Path(sys.executable),
    }.items():
        (folder / name).symlink_to(target)
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), "/usr/local/bin", "/usr/bin", "/bin"]))
    return folder


@pytest.mark.needs("npm")
@pytest.mark.parametrize(("document", "commands"), list(blocks()))
def test_the_commands_of_the_documents(
    document: str, commands: str, holdfast_project: Project, programs: Path, tmp_path: Path
) -> None:
    """In a project that declares a workflow, after the README's own example, and with a fresh home."""
    example = re.search(
        r"```markdown\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    assert example
    holdfast_project.write("PLAN.md", example[1])
    for agent in set(VERSIONS) & set(re.findall(r"^\w+", commands, re.MULTILINE)):
        line = shlex.join(private().entered(command(agent)))
        (programs / agent).write_text(f'#!/bin/sh\nexec {line} "$@"\n', encoding="utf-8")
        (programs / agent).chmod(0o755)
    if HERE in commands:
        commands = commands.replace(HERE, str(copy_files(tmp_path / "holdfast")))
    if not re.search(r"(holdfast|plugin) install", commands):
        holdfast_project.run("install")
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", commands],
        cwd=holdfast_project.root,
        env={**os.environ, **holdfast_project.environment("docs")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_the_quick_start_shows_what_simulate_prints(holdfast_project: Project) -> None:
    """Of the plan that follows it; and who reads that far has read 350 words at most."""
    readme = (ROOT / "README.md").read_text("utf-8")
    before, _, shown = readme.partition("```text\n")
    plan = readme.partition("```markdown\n")[2].partition("```")[0]
    holdfast_project.write("PLAN.md", plan)
    last = holdfast_project.run("simulate").stdout.splitlines()[-1]
    assert last == shown.partition("\n```")[0]
    assert len(before.split()) <= 350


def test_the_picture_is_a_real_run() -> None:
    """Drawn again, it is the same; `make picture` draws it anew when the commands say something else."""
    drawn = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    assert drawn["PICTURE"].read_text(encoding="utf-8") == drawn["picture"]()


def test_a_target_takes_as_long_as_its_help_says() -> None:
    """A variable of the same name for another one had `make fuzz` take hours."""
    help_text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (seconds,) = re.findall(r"make fuzz .* for (\d+) s a target", help_text)
    planned = subprocess.run(
        ["make", "--dry-run", "fuzz"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert f"--seconds {seconds} " in planned.stdout
