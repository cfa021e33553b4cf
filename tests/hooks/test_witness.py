"""Whatever a program looks at is seen, whichever way it looks."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast import marks
from holdfast.hooks import prepared
from holdfast.hooks.witness import Witness, watching
from holdfast.regular import read_file


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Files and folders that nobody has touched for an hour."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.md").write_text("one")
    (tmp_path / "folder" / "link.md").symlink_to("a.md")
    (tmp_path / "dangling").symlink_to("nowhere")
    return tmp_path


def seen(place: Path, look: Callable[[Path], object]) -> Callable[[], bool]:
    """Looks at *place*; what is returned tells whether that still holds."""
    witness = Witness()
    with watching(witness):
        look(place)
    inputs = witness.inputs(time.time_ns())
    assert inputs is not None

    def holds() -> bool:
        return prepared.hold(inputs)

    assert holds()
    return holds


READS: dict[str, Callable[[Path], object]] = {
    "os.stat": lambda at: os.stat(at / "folder/a.md"),
    "os.path.getsize": lambda at: os.path.getsize(at / "folder/a.md"),
    "open": lambda at: (at / "folder/a.md").open().close(),
    "Path.read_bytes": lambda at: (at / "folder/a.md").read_bytes(),
    "os.open": lambda at: os.close(os.open(at / "folder/a.md", os.O_RDONLY)),
    "our own reader": lambda at: read_file(at / "folder/a.md", 100),
    "through a link": lambda at: (at / "folder/link.md").read_bytes(),
    "Path.is_file": lambda at: (at / "folder/a.md").is_file(),
    "os.access": lambda at: os.access(at / "folder/a.md", os.R_OK),
    "a path as bytes": lambda at: os.stat(os.fsencode(at / "folder/a.md")),
}


@pytest.mark.parametrize("how", READS)
def test_an_edit_of_what_was_looked_at_shows(how: str, place: Path) -> None:
    """Of the same length, and with its old time put back."""
    holds = seen(place, READS[how])
    before = os.stat(place / "folder/a.md")
    (place / "folder/a.md").write_text("two")
    os.utime(place / "folder/a.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not holds()


LISTS: dict[str, Callable[[Path], object]] = {
    "os.listdir": lambda at: os.listdir(at / "folder"),
    "os.scandir": lambda at: list(os.scandir(at / "folder")),
    "Path.iterdir": lambda at: list((at / "folder").iterdir()),
    "Path.glob": lambda at: list(at.glob("*/*.md")),
    "Path.rglob": lambda at: list(at.rglob("*.md")),
    "glob.glob": lambda at: glob.glob("*/*.md", root_dir=at),
    "os.walk": lambda at: list(os.walk(at)),
}


@pytest.mark.parametrize("how", LISTS)
@pytest.mark.parametrize("change", ["added", "removed", "renamed"])
def test_a_change_of_what_was_listed_shows(how: str, change: str, place: Path) -> None:
    """Whichever function listed it."""
    holds = seen(place, LISTS[how])
    if change == "added":
        (place / "folder/b.md").write_text("new")
    elif change == "removed":
        (place / "folder/link.md").unlink()
    else:
        (place / "folder/a.md").rename(place / "folder/b.md")
    assert not holds()


def test_what_is_put_into_a_folder_that_nobody_listed_does_not_show(place: Path) -> None:
    """Else every new file in a project would."""
    holds = seen(place, lambda at: (at / "folder").is_dir())
    (place / "folder/b.md").write_text("new")
    assert holds()


@pytest.mark.parametrize("look", [os.path.exists, os.path.lexists, os.path.isfile])
def test_what_was_not_there_shows_when_it_appears(
    look: Callable[[Path], bool], tmp_path: Path
) -> None:
    """A plan that is declared later."""
    holds = seen(tmp_path, lambda at: look(at / "PLAN.md"))
    (tmp_path / "PLAN.md").write_text("a plan")
    assert not holds()


def test_where_a_link_leads_shows(place: Path) -> None:
    """The link itself, and the file that appears where it leads."""
    (place / "to").symlink_to("folder")
    holds = seen(place, lambda at: os.path.realpath(at / "to" / "a.md"))
    (place / "to").unlink()
    (place / "to").symlink_to(".")
    assert not holds()


def test_a_link_among_what_was_listed_shows_when_its_target_appears(place: Path) -> None:
    """A listing tells itself what is a folder, but of a link it asks what it leads to."""
    holds = seen(place, lambda at: [each.is_dir() for each in os.scandir(at)])
    (place / "nowhere").mkdir()
    assert not holds()


def test_a_second_edit_within_the_resolution_of_the_clock_shows(place: Path) -> None:
    """Both leave the same time, as on a file system that keeps whole seconds."""
    path, now = place / "folder/a.md", int(time.time())
    os.utime(path, (now, now))
    holds = seen(place, lambda _: path.read_bytes())
    was = marks.of(str(path))
    with path.open("r+b") as stream:
        stream.write(b"two")
    os.utime(path, (now, now))
    assert marks.content(str(path)) is not None
    assert was is not None
    assert not holds()


@pytest.mark.parametrize(
    "act",
    [
        lambda at: (at / "new").write_text("x"),
        lambda at: (at / "new").mkdir(),
        lambda at: (at / "dangling").unlink(),
        lambda at: os.utime(at / "folder/a.md"),
        lambda at: os.replace(at / "folder/a.md", at / "b"),
        lambda at: shutil.rmtree(at / "folder"),
        lambda at: subprocess.run([sys.executable, "-S", "-c", ""], cwd=at, check=True),
        lambda at: os.stat("a.md", dir_fd=os.open(at / "folder", os.O_RDONLY)),
    ],
)
def test_who_writes_or_asks_others_is_not_believed(
    act: Callable[[Path], object], place: Path
) -> None:
    """What followed from that could not be told again."""
    witness = Witness()
    with watching(witness):
        act(place)
    assert witness.inputs(time.time_ns()) is None


def test_own_journals_must_be_absent(place: Path) -> None:
    """Of that folder nothing else counts: other sessions add to it all the time."""
    own = {str(place / "folder"): ("mine.jsonl", "mine.folding-")}
    witness = Witness(own)
    with watching(witness):
        os.listdir(place / "folder")
    assert witness.inputs(time.time_ns()) == {
        "single": [],
        "many": [],
        "nothing_named": [[str(place / "folder"), ["mine.jsonl", "mine.folding-"]]],
    }
    (place / "folder/mine.jsonl").write_text("")
    assert witness.inputs(time.time_ns()) is None


def test_more_than_can_be_compared_quickly_is_not_prepared(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository may have any number of files that look like plans."""
    monkeypatch.setattr("holdfast.hooks.witness.MOST", 3)
    witness = Witness()
    with watching(witness):
        for number in range(4):
            (place / str(number)).exists()
    assert witness.inputs(time.time_ns()) is None


def test_afterwards_nothing_is_watched(place: Path) -> None:
    """The functions are what they were, and the audit is silent."""
    before = os.stat, os.lstat, os.readlink, os.access
    witness = Witness()
    with watching(witness):
        assert os.stat is not before[0]
    assert (os.stat, os.lstat, os.readlink, os.access) == before
    (place / "folder/a.md").read_bytes()
    assert witness.inputs(time.time_ns()) == {"single": [], "many": [], "nothing_named": []}
