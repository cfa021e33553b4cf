"""Killed while it prepares the answers to the next events: what is half prepared is never given."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from arena import COMPACTED, LATER, PRE_COMPACT, Arena
from efforts import EFFORT
from trials import Trials
from undermine import doomed, kills
from warm import Warm
from works import WORKS

pytestmark = pytest.mark.needs("strace")

_RESTORED = next(each for each in WORKS["our own records"] if each.name == "restore")


def test_the_next_hooks_say_what_they_would_have_said(
    tmp_path: Path, warm: Warm, count: Callable[[str, int], None]
) -> None:
    arena = Arena(tmp_path, warm)
    trials = Trials(arena, _RESTORED._replace(step=LATER))

    def said() -> list[str]:
        return [arena.must(each).stdout for each in (PRE_COMPACT, COMPACTED, COMPACTED)]

    arena.reset()
    arena.must(LATER)
    wanted = said()
    preparing = kills([each for each in trials.calls() if "/holdfast/prepared/" in each.said])
    assert len(preparing) > 10
    some = EFFORT.chance("preparing").sample(preparing, min(EFFORT.kills, len(preparing)))
    met = 0
    for fate in some:
        arena.reset()
        ended = arena.do(LATER, doomed(fate))
        # A file that has just changed is looked at once more: the calls are not always as many.
        assert ended.code in {-signal.SIGKILL, 0}, (fate, ended)
        met += ended.code != 0
        assert said() == wanted, fate
    assert met > len(some) / 2
    count("kills survived, while answers were prepared", met)
