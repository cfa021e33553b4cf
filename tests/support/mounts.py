"""File systems of their own for a test: a small one, one that keeps whole seconds, one that is read-only."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_AS_ROOT = () if os.geteuid() == 0 else ("sudo", "-n")


class NoMount(Exception):
    """This machine does not let us mount, and why."""


@contextlib.contextmanager
def small(folder: Path, kilobytes: int) -> Iterator[None]:
    """*folder* on a file system in memory with that much room."""
    with _mounted(folder, "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=777", "tmpfs"):
        yield


@contextlib.contextmanager
def of_whole_seconds(folder: Path, image: Path) -> Iterator[None]:
    """*folder* on an ext2 with short inodes, which have no room for parts of a second."""
    with image.open("wb") as stream:
        stream.truncate(8 * 1024 * 1024)
    _do("mke2fs", "-q", "-I", "128", "-t", "ext2", str(image), as_root=True)
    with _mounted(folder, "-t", "ext2", "-o", "loop", str(image)):
        _do("chmod", "777", str(folder), as_root=True)
        yield


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """What lies in *folder*, for nobody to change."""
    with _mounted(folder, "--bind", str(folder)):
        _do("mount", "-o", "remount,ro,bind", str(folder), as_root=True)
        yield


@contextlib.contextmanager
def _mounted(folder: Path, *options: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    _do("mount", *options, str(folder), as_root=True)
    try:
        yield
    finally:
        try:
            _do("umount", str(folder), as_root=True)
        except NoMount:  # one that is left would be in the way of every later run
            _do("umount", "--lazy", str(folder), as_root=True)
            raise


def _do(*command: str, as_root: bool = False) -> None:
    try:
        subprocess.run([*(_AS_ROOT if as_root else ()), *command], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        raise NoMount(said.decode("utf-8", "replace").strip()) from error
