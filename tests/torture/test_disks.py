"""Whole file systems that fail: one that is full, one that is read-only, one that keeps whole seconds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

import mounts
from arena import COMPACTED, PRE_COMPACT, Arena, Hook
from holdfast.testing import Compactions, MovableClock, Project
from trials import Trials
from warm import Warm
from works import WORKS, Work

_ONE_OF_EACH = [(kind, works[1]) for kind, works in WORKS.items()]
_IDS = [kind for kind, _ in _ONE_OF_EACH]


@contextmanager
def mounted(mount: AbstractContextManager[None]) -> Iterator[None]:
    """*mount*, or the reason why there is none here."""
    try:
        mount.__enter__()
    except mounts.NoMount as error:
        if os.environ.get("HOLDFAST_CI"):
            raise
        pytest.skip(f"nothing can be mounted here: {error}")
    try:
        yield
    finally:
        mount.__exit__(None, None, None)


def fill(folder: Path) -> Path:
    """Leave no room in *folder* at all; returns what takes it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as stream:
        try:
            while stream.write(b"x" * 4096):
                pass
        except OSError:
            return filler
    raise AssertionError("it is never full")


@pytest.mark.parametrize(("kind", "work"), _ONE_OF_EACH, ids=_IDS)
def test_a_full_disk(
    kind: str, work: Work, tmp_path: Path, warm: Warm, count: Callable[[str, int], None]
) -> None:
    """Nothing is lost, it is said in one line, and all goes on as soon as there is room."""
    with mounted(mounts.small(tmp_path / "disk", 1024)):
        arena = Arena(tmp_path / "disk", warm)
        trials = Trials(arena, work)
        arena.reset()
        filler = fill(tmp_path / "disk")
        ended = arena.do(work.step)
        saved = arena.do(PRE_COMPACT)
        assert saved.code in {0, 1}
        assert saved.stderr.count("\n") <= 1
        assert "Workflow restored" in arena.do(COMPACTED).stdout
        filler.unlink()
        trials.looks_right_after(ended)
        count("full disks", 1)


@pytest.mark.parametrize(("kind", "work"), _ONE_OF_EACH, ids=_IDS)
def test_a_project_that_is_read_only(
    kind: str, work: Work, tmp_path: Path, warm: Warm, count: Callable[[str, int], None]
) -> None:
    """The workflow is restored all the same; nothing in the project is changed."""
    arena = Arena(tmp_path, warm)
    trials = Trials(arena, work)
    arena.reset()
    before = arena.documents()
    with mounted(mounts.read_only(arena.root)):
        ended = arena.do(work.step)
        saved = arena.do(PRE_COMPACT)
        assert saved.code in {0, 1}
        assert saved.stderr.count("\n") <= 1
        assert "Workflow restored" in arena.do(COMPACTED).stdout
        assert arena.documents() == before
        assert ended.code in {0, 1}
        if not isinstance(work.step, Hook):
            assert "Read-only file system" in ended.stderr
    trials.looks_right_after(ended)
    count("read-only projects", 1)


def test_a_file_system_of_whole_seconds(tmp_path: Path) -> None:
    """Edits within one second are all seen, in either direction, by the markdown and by commands."""
    with mounted(mounts.of_whole_seconds(tmp_path / "disk", tmp_path / "image")):
        project = Project(tmp_path / "disk/project", tmp_path / "disk/home", MovableClock())
        cycle = Compactions(project)
        assert os.stat(project.declare("W", phase="1/9 - A")).st_mtime_ns % 1_000_000_000 == 0
        cycle()
        for current in range(2, 9, 2):
            project.declare("W", phase=f"{current}/9 - By markdown")
            assert cycle.fire("PreCompact").code == 0
            assert project.state()["phase"]["current"] == current
            project.run("phase", "next")
            assert project.state()["phase"]["current"] == current + 1
            assert cycle.fire("PreCompact").code == 0
            assert project.state()["phase"]["current"] == current + 1
