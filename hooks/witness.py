"""Sees what is looked at while an answer is made, so that it is known what the answer follows from.

Nobody has to remember to tell it. The calls themselves are watched: those of `os` that ask for the state of
a path, and by the interpreter's own audit those that open and list. It may be in place only where nothing
is written. What it cannot follow, and what was written all the same, makes it blind; then nothing is
prepared. It does not see what `os.DirEntry` tells of a file, so what counts is asked of `os`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from holdfast import marks, regular
from holdfast.hooks import prepared

_ASKING = ("stat", "lstat", "readlink", "access")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING = (
    *("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    *("os.utime", "os.chmod", "shutil.", "subprocess.", "os.posix_spawn", "os.fork"),
)
_MANY = 16
MOST = 20_000  # paths; to compare more would take longer than the full path saves
_CODE = (".py", ".pyc", ".so")  # what is loaded meanwhile; which code runs, a set knows by itself


class Witness:
    """Which paths were looked at, and what they were like just before."""

    def __init__(
        self, own: Mapping[str, tuple[str, ...]] | None = None, renamed_into: str | None = None
    ) -> None:
        """Of the folders *own* only names count that begin so, and there may be none.

        Files in folders that end with *renamed_into* come there by a rename only, so that their times are
        told by the folder's; there may be thousands.
        """
        self.blind = False
        self._own = own or {}
        self._renamed_into = renamed_into
        self._seen: dict[str, tuple[int, marks.Mark]] = {}
        self._nothing_named: set[tuple[str, tuple[str, ...]]] = set()
        self._busy = False

    def saw(self, path: object, how: int = marks.SEEN) -> None:
        """Note *path* as it is now, unless that is known."""
        if self._busy or isinstance(path, int):  # an open file, whose path was seen
            return
        name = os.path.join(os.getcwd(), os.fsdecode(path))  # type: ignore[arg-type]  # a path
        folder = os.path.dirname(name)
        if how == marks.SEEN and self._renamed_into and folder.endswith(self._renamed_into):
            name, how = folder, marks.LISTED
        if how == marks.LISTED and name in self._own:
            self._nothing_named.add((name, self._own[name]))
            return
        known = self._seen.get(name)
        if known is not None and known[0] >= how:
            return
        self._busy = True
        try:
            self._seen[name] = (how, marks.of(name, how))
        finally:
            self._busy = False
        if how == marks.LISTED:
            self._saw_links_in(name)

    def _saw_links_in(self, folder: str) -> None:
        """Whether an entry is a folder is told by the listing, but of a link by what it leads to."""
        self._busy = True
        try:
            with os.scandir(folder) as entries:
                links = [entry.path for entry in entries if entry.is_symlink()]
        except OSError:
            links = []
        finally:
            self._busy = False
        for link in links:
            self.saw(link)

    def inputs(self, now: int) -> dict[str, list[list[Any]]] | None:
        """What was seen, as `prepared.find` compares it at another time; None where that is not certain."""
        if self.blind or len(self._seen) > MOST:
            return None
        if any(prepared.named(*each) for each in self._nothing_named):
            return None
        single: list[list[Any]] = []
        plain: list[str] = []
        for path, (how, mark) in self._seen.items():
            if not marks.is_settled(mark, now):
                content = marks.content(path)
                if content is None:
                    return None
                single.append([path, how, mark, content])
            elif marks.is_plain(mark):
                plain.append(path)
            else:
                single.append([path, how, mark])
        many = [self._together(*each) for each in _in_groups(plain)]
        absent = [[folder, list(begins)] for folder, begins in self._nothing_named]
        return {"single": single, "many": many, "nothing_named": absent}

    def _together(self, folder: str, paths: list[str]) -> list[Any]:
        """One number in place of the marks of all *paths*, which lie below *folder*."""
        begin = len(folder.rstrip(os.sep)) + 1
        names = [path[begin:] for path in paths]
        return [folder, names, marks.joined(self._seen[path][1] for path in paths)]


def _in_groups(paths: list[str]) -> list[tuple[str, list[str]]]:
    """The *paths* by the folder that many lie in, or a level below; the few others by the root of all."""
    groups: list[tuple[str, list[str]]] = []
    for levels in (1, 2):
        folders: dict[str, list[str]] = {}
        for path in paths:
            folders.setdefault(path.rsplit(os.sep, levels)[0] or os.sep, []).append(path)
        groups += [(folder, below) for folder, below in folders.items() if len(below) >= _MANY]
        paths = [path for below in folders.values() if len(below) < _MANY for path in below]
    return [(os.sep, paths), *groups] if paths else groups


@contextmanager
def watching(witness: Witness) -> Iterator[None]:
    """While this lasts, *witness* sees what this process looks at."""
    regular.forget_folders()
    originals = {name: getattr(os, name) for name in _ASKING}
    for name, original in originals.items():
        setattr(os, name, _seen_by(witness, original))
    _audit()
    _in_place.append(witness)
    try:
        yield
    finally:
        _in_place.remove(witness)
        for name, original in originals.items():
            setattr(os, name, original)


def _seen_by(witness: Witness, ask: Callable[..., Any]) -> Callable[..., Any]:
    def asked(path: Any, *arguments: Any, **named: Any) -> Any:
        if named.get("dir_fd") is not None:
            witness.blind = True
        else:
            witness.saw(path)
        return ask(path, *arguments, **named)

    return asked


_in_place: list[Witness] = []
_audited: list[Callable[..., None]] = []  # an audit hook cannot be taken out again


def _audit() -> None:
    if not _audited:
        _audited.append(_heard)
        sys.addaudithook(_heard)


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    for witness in _in_place:
        if event == "open":
            _opened(witness, *arguments)
        elif event in {"os.listdir", "os.scandir"}:
            witness.saw(os.curdir if arguments[0] is None else arguments[0], marks.LISTED)
        elif event.startswith(_CHANGING):
            witness.blind = True


def _opened(witness: Witness, path: Any, mode: str | None, flags: int) -> None:
    is_code = mode is not None and str(path).endswith(
        _CODE
    )  # `mode` is None where `os.open` is called
    if flags & _WRITING:
        witness.blind = True
    elif not is_code:
        witness.saw(path, marks.READ)
