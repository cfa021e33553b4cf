"""Looking at the disk, and recording what was looked at.

A prepared answer holds while everything that it follows from is unchanged. So whoever looks at the disk on the way to an
answer does it through the `Inputs` that came along. Most record nothing; one that prepares an answer brings
`RecordedInputs`, which take the fingerprint of each path just before it is looked at. A test watches what the process
really asks of the system, and proves that nothing is missing here.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import itertools
import os
import re
from collections.abc import Iterator
from functools import cache

from holdfast.errors import AnyPath
from holdfast.files import fingerprints
from holdfast.files.regular import entries, has_something, read_file


class Inputs:
    """Looks at the disk and records nothing."""

    def note(self, path: AnyPath, *, listed: bool = False) -> None:
        """*path* is about to be looked at."""

    def note_way(self, path: AnyPath) -> None:
        """*path* is about to be resolved: every folder and link on its way counts."""

    def cannot_track(self) -> None:
        """The answer follows from something that has no fingerprint, such as what git says."""

    def exists(self, path: AnyPath) -> bool:
        """Whether anything lies at *path*, even a link that leads nowhere."""
        self.note(path)
        return os.path.lexists(path)

    def leads_somewhere(self, path: AnyPath) -> bool:
        """Whether anything lies at *path*; a link that leads nowhere does not count."""
        self.note(path)
        return os.path.exists(path)

    def is_file(self, path: AnyPath) -> bool:
        self.note(path)
        return os.path.isfile(path)

    def is_dir(self, path: AnyPath) -> bool:
        self.note(path)
        return os.path.isdir(path)

    def is_link(self, path: AnyPath) -> bool:
        self.note(path)
        return os.path.islink(path)

    def has_something(self, path: str) -> bool:
        """Whether *path* leads to a regular file that may be read and is not empty."""
        self.note(path)
        return has_something(path)

    def stat(self, path: AnyPath, *, follow: bool = True) -> os.stat_result | None:
        """The status of what *path* leads to, or of the link itself; None where there is nothing."""
        self.note(path)
        try:
            return os.stat(path, follow_symlinks=follow)
        except (OSError, ValueError):
            return None

    def real_path(self, path: AnyPath) -> str:
        self.note_way(path)
        return os.path.realpath(os.fspath(path))

    def entries(self, folder: AnyPath) -> list[os.DirEntry[str]]:
        """What lies in *folder*, nothing where there is none; see `regular.entries`."""
        self.note(folder, listed=True)
        return entries(folder)

    def names(self, folder: AnyPath) -> list[str]:
        """The names in *folder*; none where it cannot be listed."""
        self.note(folder, listed=True)
        try:
            return os.listdir(folder)
        except OSError:
            return []

    def read_file(
        self, path: AnyPath, limit: int, *, follow: bool = True, within: AnyPath | None = None
    ) -> tuple[bytes, float]:
        """The bytes of a regular file and its mtime, or StateUnreadable; see `regular.read_file`."""
        self.about_to_read(path, within)
        return read_file(path, limit, follow=follow, within=within)

    def about_to_read(self, path: AnyPath, within: AnyPath | None) -> None:
        """Note what reading *path* follows from; *within* as for `regular.read_file`."""
        self.note(path)
        if within is not None:
            self.note_way(path)


UNRECORDED = Inputs()


class RecordedInputs(Inputs):
    """Records every path that is looked at, with its fingerprint from just before the first look."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[bool, fingerprints.Fingerprint]] = {}
        self.untrackable = False
        self._ways: set[str] = set()

    def note(self, path: AnyPath, *, listed: bool = False) -> None:
        name = os.path.join(os.getcwd(), os.fsdecode(path))
        known = self.seen.get(name)
        if known is not None and known[0] >= listed:
            return
        self.seen[name] = (listed, fingerprints.fingerprint(name, listed=listed))
        if listed:
            self._note_links_in(name)

    def _note_links_in(self, folder: str) -> None:
        """A listing itself says whether an entry is a folder; for a link, what it leads to says so."""
        try:
            with os.scandir(folder) as found:
                links = [entry.path for entry in found if entry.is_symlink()]
        except OSError:
            return
        for link in links:
            self.note(link)

    def note_way(self, path: AnyPath) -> None:
        name = os.path.join(os.getcwd(), os.fsdecode(path))
        ways = [name]
        with contextlib.suppress(OSError, ValueError):  # a link that is none any more; a NUL
            ways.append(os.path.realpath(name))
        # A link on the way has the fingerprint of what it leads to as well, through however many others.
        for way in ways:
            part = way
            while part not in self._ways:
                self._ways.add(part)
                self.note(part)
                part = os.path.dirname(part)

    def cannot_track(self) -> None:
        self.untrackable = True


MOST = 10_000  # names and folders that are looked at for all globs of a project together


def is_glob(part: str) -> bool:
    """Whether *part* of a pattern stands for several names."""
    return glob.has_magic(part) or "{" in part


@cache
def _matcher(part: str) -> re.Pattern[str]:
    """What *part* of a glob matches, in any case. It may list ways in one pair of braces: `{plan,todo}.md`."""
    before, _, inside = part.partition("{")
    ways, closed, after = inside.partition("}")
    globs = [f"{before}{way}{after}" for way in ways.split(",")] if closed else [part]
    return re.compile("|".join(map(fnmatch.translate, globs)), re.IGNORECASE)


def ends_like(path: str, pattern: str) -> bool:
    """Whether the name of *path*, and that of its folder where *pattern* has one, are as in *pattern*."""
    wanted = pattern.split("/")[-2:]
    names = path.replace(os.sep, "/").split("/")[-len(wanted) :]
    return len(names) == len(wanted) and all(
        _matcher(part).match(name) for name, part in zip(names, wanted, strict=True)
    )


class Search:
    """What globs match below one folder, until too much was looked at."""

    def __init__(self, root: str | os.PathLike[str], inputs: Inputs = UNRECORDED) -> None:
        self._root = os.fspath(root)
        self._inputs = inputs
        self._left = MOST
        self._listed: dict[str, list[os.DirEntry[str]]] = {}  # by the folder's path below the root

    @property
    def is_over(self) -> bool:
        """Whether it was given up."""
        return self._left < 0

    def find(self, pattern: str) -> Iterator[str]:
        """Paths below the folder, with forward slashes, in no order; links are followed."""
        parts = [part for part in pattern.split("/") if part not in {"", "."}]
        # By hand: with links to folders above, a glob of many parts has no end.
        waiting = [("", 0)] if parts else []
        while waiting:
            inside, at = waiting.pop()
            last = at + 1 == len(parts)
            for name in self._named(inside, parts[at], folders=not last):
                if last:
                    yield f"{inside}{name}"
                else:
                    waiting.append((f"{inside}{name}/", at + 1))

    def _named(self, inside: str, part: str, *, folders: bool) -> list[str]:
        if not is_glob(part):
            is_there = self._inputs.is_dir if folders else self._inputs.exists
            return [part] if is_there(os.path.join(self._root, inside, part)) else []
        entries, wanted = self._entries(inside), _matcher(part)
        return [
            entry.name
            for entry in entries
            if wanted.match(entry.name)
            and (part.startswith(".") or not entry.name.startswith("."))
            and (not folders or _is_dir(entry))
        ]

    def _entries(self, inside: str) -> list[os.DirEntry[str]]:
        """What lies in the folder *inside*, listed once for all globs."""
        if inside not in self._listed and not self.is_over:
            folder = os.path.join(self._root, inside)
            self._inputs.note(folder, listed=True)
            entries: list[os.DirEntry[str]] = []
            with contextlib.suppress(OSError), os.scandir(folder) as found:
                entries = list(itertools.islice(found, self._left + 1))
            self._left -= 1 + len(entries)
            self._listed[inside] = entries
        return self._listed.get(inside, [])


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
