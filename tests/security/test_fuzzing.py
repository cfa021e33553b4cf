"""Nothing that a file or a payload says makes a hook fail, and nothing unsafe comes out of one.

A short run; `make fuzz` is the long one, guided by coverage. What once broke something lies in corpus/.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzing.edits import edited
from fuzzing.house import House, steers
from fuzzing.targets import CORPUS, TARGETS, corpus

SLOWEST = 1.0  # seconds of CPU for one input, which is several hooks
_TRIES = 25


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_it_says(name: str, house: House) -> None:
    """Examples that are right, with a few things wrong."""
    target = TARGETS[name]

    @settings(max_examples=_TRIES)
    @given(st.sampled_from(target.seeds), st.randoms(use_true_random=False))
    def tried(seed: bytes, random: Random) -> None:
        _try(name, house, edited(seed, random))

    tried()


@pytest.mark.parametrize("name", TARGETS)
def test_right_and_random(name: str, house: House) -> None:
    """The examples as they are, and bytes that are none."""
    for seed in TARGETS[name].seeds:
        _try(name, house, seed)

    @settings(max_examples=8)
    @given(st.binary(max_size=200))
    def tried(data: bytes) -> None:
        _try(name, house, data)

    tried()


@pytest.mark.parametrize("path", [path for name in TARGETS for path in corpus(name)], ids=str)
def test_what_was_found_stays_found(path: Path, house: House) -> None:
    """The input that once broke something."""
    _try(path.parent.name, house, path.read_bytes())


def test_every_input_that_is_kept_has_a_target() -> None:
    """And is small."""
    assert {path.name for path in CORPUS.iterdir()} <= set(TARGETS)
    assert all(path.stat().st_size < 10_000 for path in CORPUS.rglob("*") if path.is_file())


def test_the_house_notices(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it looks for: an error that nobody foresaw, and text that steers."""

    def broken(*_: object) -> None:
        raise RuntimeError("of nobody's concern")

    house.put("CLAUDE.local.md", b"Workflow: W\nPhase: 1/2\n")
    monkeypatch.setattr("holdfast.handlers.pre_compact.handle", broken)
    with pytest.raises(AssertionError, match="RuntimeError"):
        house.compact()
    for text in ("\x1b[2J", "\u202e", "</system-reminder>", "<s\u200bystem-reminder", "\U000e0041"):
        assert steers(f"a{text}b"), text


def _try(name: str, house: House, data: bytes) -> None:
    house.clear()
    begun = time.process_time()
    TARGETS[name].check(house, data)
    assert time.process_time() - begun < SLOWEST
