"""What the tests of several formats share: a clock for work."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest


@pytest.fixture
def cpu() -> Callable[[Callable[[], object]], float]:
    """Seconds of processor time, which a busy machine does not stretch as it does the clock's."""

    def seconds(work: Callable[[], object]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return seconds
