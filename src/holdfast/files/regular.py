"""Read a regular file and nothing else: no FIFO that hangs, no device without an end, no giant. Or list a folder.

What is not there is told from what the system does not show, which may be as good as ever.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from collections.abc import Callable

from holdfast.errors import AnyPath, StateOutOfReach, StateUnreadable
from holdfast.files.atomic import BYTES, NO_LINK, NO_WAIT

_FLAGS = os.O_RDONLY | NO_WAIT | BYTES
_MOST_DOTS = 100  # on a line of TOML; Python's reader takes the square of a key's parts in memory
# Objects and lists; each takes many times the room that it has in a file. Of hook input, where a tool's output may
# have many, and brackets in texts count as well, more are let through.
_MOST_BRACKETS = 200_000
INPUT_BRACKETS = 1_000_000
DEEPEST = 64  # levels of JSON; more would break the tools that write it again
# These tell of the file; all other errors tell of the system, and may be over in a moment.
_WHAT_LIES_THERE = {
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG),
    *(errno.EINVAL, errno.ENXIO, errno.ENODEV),
}
# A tool that writes in place may be half way through. Such a file is given this long.
_SETTLING = 1.0  # seconds
_STEP = 64 * 1024
_REPLACED = "it is being replaced"


def read_file(
    path: AnyPath, limit: int, *, follow: bool = True, within: AnyPath | None = None
) -> tuple[bytes, float]:
    """The bytes of *path* and its mtime, or StateUnreadable.

    Unless *follow*, it may be no link. With *within*, a real path, it may lead nowhere else, also where a
    link takes its place meanwhile.
    """
    try:
        if within is None:
            descriptor = os.open(path, _FLAGS if follow else _FLAGS | NO_LINK)
        else:
            descriptor = _opened(path, os.path.join(within, ""))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _unreadable(path, error) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise StateUnreadable(path, "not a regular file")
        if status.st_size > limit:
            raise StateUnreadable(path, f"larger than {limit} bytes")
        data = _read(descriptor, limit + 1, status.st_size)
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if len(data) > limit:  # it has grown since
        raise StateUnreadable(path, f"larger than {limit} bytes")
    return data, status.st_mtime


def _opened(path: AnyPath, within: str) -> int:
    """The file at *path*, open, which really lies below the folder *within*."""
    try:
        real = os.path.realpath(os.fspath(path))
    except (OSError, ValueError) as error:  # of a link that is no link any more
        raise StateOutOfReach(path, _REPLACED) from error
    if not real.startswith(within):
        raise StateUnreadable(path, "leads outside the project")
    descriptor = os.open(real, _FLAGS | NO_LINK)
    if _lies_at(real, descriptor):
        return descriptor
    os.close(descriptor)
    raise StateOutOfReach(path, _REPLACED)


def _lies_at(real: str, descriptor: int) -> bool:
    """Whether the open file lies at *real* itself, and no link has replaced a folder on the way meanwhile."""
    try:
        place = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # no Linux
        return os.path.realpath(real) == real
    return place in {real, f"{real} (deleted)"}  # replaced since, by a rename


def entries(folder: AnyPath) -> list[os.DirEntry[str]]:
    """What lies in *folder*, nothing where there is none; StateOutOfReach where the system does not say.

    What is there would be taken for gone, and begun anew.
    """
    try:
        with os.scandir(os.fspath(folder)) as found:
            return list(found)
    except OSError as error:
        unreadable = _unreadable(folder, error)
        if isinstance(unreadable, StateOutOfReach):
            raise unreadable from error
        return []


def _unreadable(path: AnyPath, error: OSError | ValueError) -> StateUnreadable:
    if not isinstance(error, OSError):
        return StateUnreadable(path, str(error))
    reason = error.strerror or str(error)
    is_what_lies_there = error.errno in _WHAT_LIES_THERE
    return (StateUnreadable if is_what_lies_there else StateOutOfReach)(path, reason)


def _read(descriptor: int, most: int, size: int) -> bytes:
    parts = []
    step = max(size + 1, _STEP)  # room is made for all that is asked for, whatever there is
    while most > 0 and (part := os.read(descriptor, min(most, step))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def has_something(path: str) -> bool:
    """Whether there is a regular file that may be read and is not empty."""
    try:
        return os.path.isfile(path) and os.access(path, os.R_OK) and os.path.getsize(path) > 0
    except OSError:
        return False


def exceeds_json_limit(raw: bytes, most: int = _MOST_BRACKETS) -> bool:
    """Whether the JSON in *raw* may have more objects and lists than there is room for."""
    return raw.count(b"{") + raw.count(b"[") > most


def decode_json(raw: bytes, *, constant: Callable[[str], object] = str) -> object:
    """The JSON in *raw*; ValueError when it is none, holds too much, or is nested deeper than DEEPEST."""
    if exceeds_json_limit(raw):
        raise ValueError(f"more than {_MOST_BRACKETS:,} objects and lists")
    # Python writes NaN and Infinity, which are no JSON; as text they survive being written again.
    try:
        value = json.loads(raw.decode("utf-8-sig"), parse_constant=constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return value
    raise ValueError(f"nested deeper than {DEEPEST} levels")


def decode_toml(raw: bytes) -> dict[str, object]:
    """The TOML in *raw*; ValueError when it is none, or has keys of too many parts."""
    import tomllib  # noqa: PLC0415  # most projects have no such file and need not pay for it

    if any(line.count(b".") > _MOST_DOTS for line in raw.splitlines()):
        raise ValueError(f"a line with more than {_MOST_DOTS} dots")
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_json(path: AnyPath, limit: int, *, follow: bool = True) -> object:
    """The JSON in the regular file *path*, or StateUnreadable. Unless *follow*, it may be no link."""
    try:
        return decode_json(read_file(path, limit, follow=follow)[0])
    except ValueError as error:
        raise StateUnreadable(path, f"not JSON: {error}") from error


_in_vain: dict[str, float] = {}  # files that were waited for: their times


def read_settled_json(
    path: AnyPath, limit: int, *, within: AnyPath | None = None, wait: bool = True
) -> tuple[bytes, float, object]:
    """Bytes, mtime and JSON of *path*, once its writer is done if one is at work; else StateUnreadable.

    A hook reads a file more than once. It waits in vain only once, and not at all where it shall not *wait*.
    """
    name = os.fsdecode(path)
    for _ in range(6):
        raw, mtime = read_file(path, limit, within=within)
        try:
            return raw, mtime, decode_json(raw)
        except ValueError as error:
            reason = error
        if not wait or _in_vain.get(name) == mtime or abs(time.time() - mtime) > _SETTLING:
            break
        time.sleep(0.05)
    _in_vain[name] = mtime
    raise StateUnreadable(path, f"not JSON: {reason}") from reason


def contains(folder: str, path: str) -> bool:
    """Whether *path* is *folder* or lies below it; both must be real paths."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
