"""How much the torture does, and with which chance: little in the suite, much by `make torture`."""

from __future__ import annotations

import os
import random
from typing import NamedTuple


class Effort(NamedTuple):
    """What a run is to do; each by a variable of the environment, such as TORTURE_KILLS."""

    kills: int = 12  # a format
    faults: int = 12  # a format
    sessions: int = 4
    seconds: float = 5.0  # for all of the sessions together
    patience: bool = False  # whether to wait as long as a command does
    seed: int = 1

    @classmethod
    def asked(cls) -> Effort:
        given = {name: os.environ.get(f"TORTURE_{name.upper()}") for name in cls._fields}
        kinds = {name: type(value) for name, value in cls._field_defaults.items()}
        return cls(**{name: kinds[name](float(text)) for name, text in given.items() if text})

    def chance(self, of: str) -> random.Random:
        """The same for the same seed, whatever else is run."""
        return random.Random(f"{self.seed} {of}")  # noqa: S311  # no secret


EFFORT = Effort.asked()
