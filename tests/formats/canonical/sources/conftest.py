"""What the tests of the markdown sources share: short ways to read a text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.formats.canonical.sources import Looked
from holdfast.formats.canonical.sources.claude_local import read_local
from holdfast.formats.canonical.sources.plan import read_plan


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
