"""Every piece of work of each format, killed and failed below Python at each call that matters.

What is left is the old state or the new one, whole; the next hook and the same command go on by
themselves; whoever fails says why in one line and never blocks a compaction.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path

import pytest

from arena import Arena
from efforts import EFFORT
from trials import Trials, at_random
from undermine import Fate, doomed, errors, kills
from warm import Warm
from works import WORKS, Work

pytestmark = pytest.mark.needs("strace")

_ALL = [(kind, work) for kind, works in WORKS.items() for work in works]


@pytest.mark.parametrize(
    ("kind", "work"), _ALL, ids=[f"{kind}: {work.name}" for kind, work in _ALL]
)
def test_it_is_old_or_new_and_goes_on(
    kind: str, work: Work, tmp_path: Path, warm: Warm, count: Callable[[str, int], None]
) -> None:
    trials = Trials(Arena(tmp_path, warm), work)
    calls = trials.calls()
    chance = EFFORT.chance(f"{kind} {work.name}")
    wanted = math.ceil(EFFORT.kills / len(WORKS[kind]))
    killed = 0
    for fate in _deaths(_shuffled(kills(calls), chance), wanted):
        held = doomed(fate) if fate else at_random(trials.seconds, chance)
        killed += _tried(trials.killed, held, fate)
        if killed == wanted:
            break
    count(f"kills survived, {kind}", killed)
    assert killed == wanted

    wanted = math.ceil(EFFORT.faults / len(WORKS[kind]))
    fates = _shuffled(errors(calls), chance)[:wanted]
    for fate in fates:
        mute = fate.from_then_on and fate.call.name == "write"
        _tried(lambda held, mute=mute: trials.failed(held, mute=mute), doomed(fate), fate)
    count(f"faults injected, {kind}", len(fates))


def _deaths(fates: Sequence[Fate], wanted: int) -> Iterator[Fate | None]:
    """Each call once, then moments that nobody has chosen; some of these come too late to kill."""
    return chain(fates, repeat(None, 20 * wanted))


def _shuffled(fates: Sequence[Fate], chance: random.Random) -> list[Fate]:
    return chance.sample(fates, len(fates))


def _tried(
    trial: Callable[[Callable[[int], None]], bool], held: Callable[[int], None], fate: Fate | None
) -> bool:
    try:
        return trial(held)
    except AssertionError as error:
        error.add_note(f"{fate or 'killed at some moment'}; seed {EFFORT.seed}")
        raise
