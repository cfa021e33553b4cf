"""One piece of work, disturbed again and again: what there may be afterwards, and how it has to go on."""

from __future__ import annotations

import contextlib
import difflib
import os
import random
import signal
import time
from collections.abc import Callable, Sequence

from arena import COMPACTED, PRE_COMPACT, Arena, Files, Hook, torn
from holdfast.files.store import Store
from undermine import Call, Listed
from warm import Ended
from works import Work

_ADDED_TO = (".jsonl", ".log")


class Trials:
    """Disturbs a *work* in an arena of its own. Whatever is not as it must be is an AssertionError."""

    def __init__(self, arena: Arena, work: Work) -> None:
        self.arena, self.work = arena, work
        for step in work.before:
            arena.must(step)
        arena.keep()
        self.old = arena.documents()
        started = time.monotonic()
        arena.must(work.step)
        self.seconds = time.monotonic() - started
        self.new = arena.documents()
        arena.must(PRE_COMPACT)
        self.new_saved = self._counts()
        arena.reset()
        arena.must(PRE_COMPACT)
        self.old_saved = self._counts()
        arena.must(work.step)
        self.new_after_all = self._counts()

    def calls(self) -> Sequence[Call]:
        """The calls of the work that concern files of the project or the user's folder."""
        self.arena.reset()
        listed = Listed(self.arena.root, self.arena.home)
        assert self.arena.do(self.work.step, listed).code == 0
        return listed.calls

    def killed(self, held: Callable[[int], None]) -> bool:
        """Whether the process was killed before its end; what it left is looked at, and gone on with."""
        self.arena.reset()
        ended = self.arena.do(self.work.step, held)
        if ended.code != -signal.SIGKILL:
            assert ended.code == 0, ended
            return False
        self._is_whole()
        self._goes_on()
        return True

    def failed(self, held: Callable[[int], None], *, mute: bool = False) -> bool:
        """Whether the process had to say that something failed; the same is demanded of what it left.

        It is *mute* when the error meets what it prints as well.
        """
        self.arena.reset()
        ended = self.arena.do(self.work.step, held)
        self._is_said(ended, mute=mute)
        self._is_whole()
        self._goes_on()
        return ended.code == 1

    def looks_right_after(self, ended: Ended) -> None:
        """What there is after the step *ended* in some way, and how it goes on."""
        self._is_said(ended, mute=False)
        self._is_whole()
        self._goes_on()

    def _is_said(self, ended: Ended, *, mute: bool) -> None:
        """It says what went wrong in one line, with a next step in another; a hook has one line."""
        at_exit = 120  # as Python ends when what is printed cannot be
        assert ended.code in ({0, 1, at_exit} if mute else {0, 1}), ended
        assert "Traceback" not in ended.stderr, ended
        lines = ended.stderr.splitlines()
        if isinstance(self.work.step, Hook):
            assert len(lines) <= 1, ended
        assert ended.code == 0 or lines or mute, f"it failed and did not say why: {ended}"

    def _is_whole(self) -> None:
        """Each file is the old one or the new one; what is added to holds what was there.

        Our own records may be on their way, but no record is cut short.
        """
        now = self.arena.documents()
        for name in sorted({*now, *self.old, *self.new}):
            if name not in {**self.work.counts(self.old), **self.work.counts(self.new)}:
                continue
            there, before, after = (each.get(name) for each in (now, self.old, self.new))
            if there in (before, after):
                continue
            assert there is not None, f"{name} is gone"
            if name.endswith(_ADDED_TO):
                assert there.startswith(before or b""), f"{name} lost something"
            else:
                raise AssertionError(f"{name} is neither the old nor the new one: {there[:200]!r}")
        found = torn(self.arena.records())
        assert found == [], found

    def _goes_on(self) -> None:
        """The next hook saves, the same command does what is left to do, and a restore has all of it."""
        self.arena.must(PRE_COMPACT)
        if self._counts() != self.new_saved:
            self._is_done_again()
        self.arena.must(COMPACTED)
        store = Store(self.arena.root)
        with store.lock(1):  # as whoever writes next
            assert os.listdir(store.private / "tmp") == [], "nobody has cleared up"

    def _is_done_again(self) -> None:
        """What was not done is done now; what was half way through is brought to its end."""
        if isinstance(self.work.step, Hook):
            self._differs(self._counts(), self.old_saved, "after the next hook")
            return
        old = self._counts() == self.old_saved
        again = self.arena.do(self.work.step)
        done = again.code == 0 or "interrupted command was completed" in again.stderr
        assert done or not old, again
        self._differs(self._counts(), self.new_after_all, f"once it is done again: {again}")

    def _counts(self) -> Files:
        return self.work.counts(self.arena.documents())

    @staticmethod
    def _differs(now: Files, wanted: Files, when: str) -> None:
        names = [name for name in sorted({*now, *wanted}) if now.get(name) != wanted.get(name)]
        shown = ["\n".join(_difference(now.get(each), wanted.get(each))) for each in names[:3]]
        assert not names, f"{when}: {names}\n" + "\n".join(shown)


def _difference(now: bytes | None, wanted: bytes | None) -> list[str]:
    lines = [(each or b"").decode("utf-8", "replace").splitlines() for each in (now, wanted)]
    return list(difflib.unified_diff(*lines, "there is", "wanted", n=0, lineterm=""))


def at_random(seconds: float, chance: random.Random) -> Callable[[int], None]:
    """Lets a process go, and kills it at some moment of the *seconds* that it takes."""

    def held(pid: int) -> None:
        process = os.pidfd_open(pid)
        try:
            os.kill(pid, signal.SIGCONT)
            time.sleep(chance.uniform(0, seconds))
            with contextlib.suppress(ProcessLookupError):  # it was quicker
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)

    return held
