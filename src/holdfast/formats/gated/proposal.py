"""What `recover` proposes to write, and what it follows from, field by field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.formats.gated.model import PhaseName, State, Status


class Finding(NamedTuple):
    """One field of what is proposed, and where it comes from."""

    field: str
    value: str
    evidence: str


@dataclass
class Proposal:
    """What would be written; empty where nothing is wrong."""

    state: State | None = None  # None where workflow-state.json stays as it is
    statuses: dict[PhaseName, Status] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)

    def find(self, where: str, value: object, evidence: str) -> None:
        self.findings.append(Finding(where, "null" if value is None else str(value), evidence))


class Told(NamedTuple):
    """What the evidence says of a phase."""

    status: str
    iterations: int
    why: str
