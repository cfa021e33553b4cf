"""Records what a process really asks of the disk, to prove that what was declared as looked at is complete.

The calls themselves are watched: those of `os` that ask for the state of a path, and by the interpreter's own audit
those that open and list. It does not see what `os.DirEntry` tells of a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

import holdfast.handlers
import holdfast.hooks
from holdfast.files.store import COPIES

_ASKING = ("stat", "lstat", "readlink", "access")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING = (
    *("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    *("os.utime", "os.chmod", "shutil.", "subprocess.", "os.posix_spawn", "os.fork"),
)
_CODE = (".py", ".pyc", ".so")
# Folders that an import lists, the first time that a process loads something from there.
_IMPORTED_FROM = (*holdfast.__path__, *holdfast.hooks.__path__, *holdfast.handlers.__path__)


class InputRecorder:
    """Which paths were asked for, each in the strongest way, but for those that begin with one of *apart*."""

    def __init__(self, apart: tuple[str, ...]) -> None:
        self.apart = apart
        self.seen: dict[str, bool] = {}
        self.used: dict[
            str, bool
        ] = {}  # what of it came before something was written below *apart*
        self.untrackable: list[str] = []  # what was written, or asked of other programs

    def record(self, path: object, listed: bool = False) -> None:
        if isinstance(path, int):  # an open file, whose path was recorded
            return
        name = os.path.join(os.getcwd(), os.fsdecode(path))  # type: ignore[arg-type]  # a path
        apart = (*self.apart, *_IMPORTED_FROM, "/proc/self/fd/")
        if not name.startswith(apart) and not name.endswith(_CODE):
            self.seen[name] = listed or self.seen.get(name, False)

    def record_change(self, what: str, path: object) -> None:
        if str(path).startswith(self.apart):
            self.used = dict(self.seen)
        elif not isinstance(path, int):
            self.untrackable.append(f"{what} {path}")

    def undeclared(self, inputs: Mapping[str, bool]) -> list[str]:
        """What was used and is not among *inputs*, which say by path how it was looked at."""
        declared = {os.path.normpath(path): listed for path, listed in inputs.items()}
        return [
            path
            for path, listed in sorted(self.used.items())
            if not _is_declared(os.path.normpath(path), listed, declared)
        ]


def _is_declared(path: str, listed: bool, declared: Mapping[str, bool]) -> bool:
    if path in declared and declared[path] >= listed:
        return True
    # Copies come there by a rename only, so that the folder tells of each.
    folder = os.path.dirname(path)
    return folder.endswith(COPIES) and declared.get(folder, False)


@contextmanager
def recording(recorder: InputRecorder) -> Iterator[None]:
    """While this lasts, *recorder* sees what this process looks at."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _ASKING:
            patch.setattr(os, name, _recorded(recorder, getattr(os, name)))
        if not _audited:
            _audited.append(_heard)
            sys.addaudithook(_heard)
        _in_place.append(recorder)
        try:
            yield
        finally:
            _in_place.remove(recorder)


def _recorded(recorder: InputRecorder, ask: Callable[..., Any]) -> Callable[..., Any]:
    def asked(path: Any, *arguments: Any, **named: Any) -> Any:
        if named.get("dir_fd") is None:
            recorder.record(path)
        else:
            recorder.untrackable.append(f"dir_fd: {path}")
        return ask(path, *arguments, **named)

    return asked


_in_place: list[InputRecorder] = []
_audited: list[Callable[..., None]] = []  # an audit hook cannot be taken out again


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    for recorder in _in_place:
        if event == "open":
            _opened(recorder, *arguments)
        elif event in {"os.listdir", "os.scandir"}:
            folder = os.curdir if arguments[0] is None else arguments[0]
            recorder.record(folder, listed=True)
        elif event.startswith(_CHANGING):
            recorder.record_change(event, arguments[0])


def _opened(recorder: InputRecorder, path: Any, mode: str | None, flags: int) -> None:
    # `mode` is None where `os.open` is called.
    if flags & _WRITING:
        recorder.record_change("open", path)
    else:
        recorder.record(path)
