"""What the tests of the markdown sources share: a clock for work, and short ways to read a text."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from holdfast.formats.canonical.declaration import Looked
from holdfast.formats.canonical.sources.claude_local import read_local
from holdfast.formats.canonical.sources.plan import read_plan


@pytest.fixture
def cpu() -> Callable[[Callable[[], object]], float]:
    """Seconds of processor time, which a busy machine does not stretch as it does the clock's."""

    def seconds(work: Callable[[], object]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return seconds


@pytest.fixture
def local() -> Callable[[str], Looked]:
    """What a CLAUDE.local.md with this text declares."""

    def find_plan(text: str) -> str | None:
        return text if text.endswith("/PLAN.md") else None

    return lambda text: read_local(
        text.encode(), path="CLAUDE.local.md", mtime=5.0, find_plan=find_plan
    )


@pytest.fixture
def plan() -> Callable[[str], Looked]:
    """What a plan with this text declares."""
    return lambda text: read_plan(text.encode(), path="plans/x/PLAN.md", mtime=5.0)
