"""What lies in the plugin's data folder: environments, a lock, and how the last set-up failed.

An environment has the version in its name, because a new version may need other dependencies, and
the interpreter and the platform, because a home may be shared with a container. Whether it is ready is
told by the marker in it, not by its name.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast import __version__
from holdfast.atomic import replace_file
from holdfast.bootstrap import marker
from holdfast.errors import StateUnreadable
from holdfast.plaintext import one_line
from holdfast.regular import read_file

_ASIDE = "setup-"  # what is not whole yet, or not needed any more
_UNUSED = 30 * 24 * 3600.0
_LONGEST_REASON = 64 * 1024


class DataFolder:
    """The folder that the client keeps for the plugin, over all its versions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "setup.log"
        self._failure = folder / "setup-failed.txt"
        folder.mkdir(parents=True, exist_ok=True)

    def ready(self) -> bool:
        """Whether there is an environment of this version that can be used here."""
        return any(marker.usable(str(each)) for each in self.folder.glob(f"env-{__version__}-*"))

    def put_in_place(self, environment: Path, aside: Path) -> None:
        """Give a whole environment its name. One whose interpreter has gone makes room for it."""
        # Where there is a SOABI, it also tells C libraries apart.
        interpreter = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag
        name = f"{interpreter}-{sysconfig.get_platform()}"
        target = self.folder / f"env-{__version__}-{name}"
        if target.exists():
            target.rename(aside / "replaced")
        environment.rename(target)

    @contextmanager
    def aside(self) -> Iterator[Path]:
        """A folder that is gone in the end. Only for whoever has the lock."""
        self._clear()
        folder = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=self.folder))
        try:
            yield folder
        finally:
            # Also what a set-up that was killed has left; a child of it may have written since.
            self._clear()

    def _clear(self) -> None:
        for left in self.folder.glob(f"{_ASIDE}*/"):
            shutil.rmtree(left, ignore_errors=True)

    def remove_unused(self, now: float) -> None:
        """Environments, this version's apart, that nothing was started from for a month."""
        for environment in self.folder.glob("env-*/"):
            if environment.name.startswith(f"env-{__version__}-"):
                continue
            if marker.last_use(str(environment)) < now - _UNUSED:
                shutil.rmtree(environment, ignore_errors=True)

    def failure(self) -> str:
        """Why the last set-up did not come to its end; "" when it did, or there was none."""
        try:
            raw, _ = read_file(self._failure, _LONGEST_REASON)
        except StateUnreadable:
            return ""
        return one_line(raw.decode("utf-8", "replace"), 800)

    def note_failure(self, reason: str) -> None:
        replace_file(str(self._failure), reason.encode("utf-8", "replace"), mode=0o600)

    def forget_failure(self) -> None:
        self._failure.unlink(missing_ok=True)

    @contextmanager
    def lock(self, patience: float = 0.0) -> Iterator[bool]:
        """Whether we are the one to set up. The system gives the lock back for whoever is killed."""
        with (self.folder / "setup.lock").open("ab") as stream:
            end = time.monotonic() + patience
            while not (taken := _try_lock(stream.fileno())) and time.monotonic() < end:
                time.sleep(0.05)
            yield taken

    def being_set_up(self) -> bool:
        with self.lock() as taken:
            return not taken


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415  # only there

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415  # not there

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
