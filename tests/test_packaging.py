"""What is released: it builds from the tracked files alone, installs anywhere, and runs without them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast import __version__
from holdfast.config.project import variables_of_home
from holdfast.testing.simulate import Session, encode

ROOT = Path(__file__).parents[1]
# As it was before any test got a home of its own: pip reads its configuration there.
ENVIRONMENT = dict(os.environ)
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, "build_" + sys.argv[1])(sys.argv[2]))
"""


class Built(NamedTuple):
    tracked: list[str]
    wheel: Path
    sdist: Path
    again: Path  # the wheel that was built from the sdist


def run(*arguments: str | Path, cwd: Path, environment: Mapping[str, str] = ENVIRONMENT) -> str:
    command = [str(argument) for argument in arguments]
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def venv_with(folder: Path, *wanted: str | Path) -> Path:
    """An empty environment as pipx makes it, with *wanted* installed from outside."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / SCRIPTS / Path(sys.executable).name
    pip = (sys._base_executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*pip, "--constraint", ROOT / "constraints.txt", *wanted, cwd=folder.parent)
    return python


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Wheel and sdist, made by the build backend from a copy of what git tracks."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    top = tmp_path_factory.mktemp("packaging")
    copy, out = top / "copy", top / "out"
    for name in tracked:
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    python = venv_with(top / "builder", *needed["requires"])

    def build(kind: str, source: Path, target: Path) -> Path:
        target.mkdir(exist_ok=True)
        return target / run(python, "-c", BUILD, kind, target, cwd=source).splitlines()[-1]

    wheel, sdist = build("wheel", copy, out), build("sdist", copy, out)
    with tarfile.open(sdist) as archive:
        archive.extractall(top / "unpacked", filter="data")
    (unpacked,) = (top / "unpacked").iterdir()
    return Built(tracked, wheel, sdist, build("wheel", unpacked, top / "again"))


def test_the_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    """Every tracked module, the marker of types, the license; payloads, definitions, bridges and the skill; no test, no cache."""
    places = {"src/holdfast/": "holdfast/", "hooks/": "holdfast/hooks/"}
    places |= {"handlers/": "holdfast/handlers/", "skills/": "holdfast/skills/"}
    expected = {
        name.replace(source, target, 1)
        for name in built.tracked
        for source, target in places.items()
        if name.startswith(source)
        and (
            name.endswith((".py", "/py.typed", "/SKILL.md"))
            or any(kept in name for kept in ("/payloads/", "/builtin/", "/templates/", "/bridges/"))
        )
    }
    with zipfile.ZipFile(built.wheel) as archive:
        names = set(archive.namelist())
    about = {name for name in names if ".dist-info/" in name}
    command = f"holdfast-{__version__}.data/scripts/holdfast"
    assert names - about == expected | {command}
    assert any(name.endswith("licenses/LICENSE") for name in about)
    assert "holdfast/py.typed" in names


def test_the_sdist_builds_the_same_wheel(built: Built) -> None:
    """Byte for byte, but for the times."""

    def contents(wheel: Path) -> dict[str, bytes]:
        with zipfile.ZipFile(wheel) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    assert contents(built.again) == contents(built.wheel)


def test_the_sdist_holds_what_is_needed_and_nothing_else(built: Built) -> None:
    """Sources, what describes them, and what the build backend adds."""
    with tarfile.open(built.sdist) as archive:
        names = {each.name.partition("/")[2] for each in archive if each.isfile()}
    sources = ("src/", "hooks/", "handlers/", "skills/")
    described = {
        "pyproject.toml",
        "setup.py",
        "MANIFEST.in",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
    }
    tracked = {name for name in built.tracked if name.startswith(sources)} - {"hooks/hooks.json"}
    made = {name for name in names if "egg-info" in name} | {"PKG-INFO", "setup.cfg"}
    assert names == tracked | described | {"settings.example.json"} | made


def test_it_runs_in_an_empty_environment(built: Built, tmp_path: Path) -> None:
    """As pipx installs it, with a new home and nothing of the repository in reach."""
    holdfast = venv_with(tmp_path / "tool", built.wheel).with_name("holdfast")
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    kept = {name: ENVIRONMENT[name] for name in ("PATH", "SYSTEMROOT") if name in ENVIRONMENT}
    environment = {**kept, **variables_of_home(str(home))}
    version = run(holdfast, "--version", cwd=tmp_path, environment=environment)
    assert version.strip() == f"holdfast, version {__version__}"
    played = run(holdfast, "demo", cwd=tmp_path, environment=environment)
    assert "Workflow completed: User Auth" in played
    (project / "CLAUDE.local.md").write_text("Workflow: W\nPhase: 1/2 - Build\n", encoding="utf-8")
    answered = subprocess.run(
        [holdfast, "hook"],
        input=encode(Session("s", str(project)).session_start()),
        cwd=project,
        env=environment,
        capture_output=True,
        check=True,
    )
    told = json.loads(answered.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "phase 1 of 2: Build." in told


@pytest.mark.needs("make")
def test_the_environment_lies_outside_the_folder_that_a_plugin_is_copied_from(
    tmp_path: Path,
) -> None:
    """Clients copy the whole folder, and follow no link out of it. A copied link to another's is not kept."""
    folder, cache = tmp_path / "the checkout", tmp_path / "the cache"
    folder.mkdir()
    (folder / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    (folder / ".venv").symlink_to(tmp_path / "of another checkout")
    environment = {**ENVIRONMENT, "XDG_CACHE_HOME": str(cache)}
    run("make", ".venv/.tree", "LINKED=true", cwd=folder, environment=environment)
    assert (folder / ".venv").resolve().parent == cache / "holdfast"
    assert run(folder / ".venv/bin/python", "-c", "print('starts')", cwd=folder) == "starts\n"
    run("make", "clean", cwd=folder, environment=environment)
    assert [each.name for each in (*folder.iterdir(), *(cache / "holdfast").iterdir())] == [
        "Makefile"
    ]
