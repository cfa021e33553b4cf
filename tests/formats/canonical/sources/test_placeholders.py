"""Values that state nothing: "none", "N/A", a dash, what a template left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.formats.canonical.sources import Looked, PhaseMark
from holdfast.formats.canonical.sources.values import bare, is_template, says_nothing

NOTHING = [
    "none", "None", "N/A", "n/a", "-", "—", "(none)", "[none]", "**none**", "no active workflow", "No workflow active", "None - all complete",
    "none (finished in May)", "None currently", "TBD", "tbd.", "nil", "null", "idle", "not applicable", "...", "?", "none yet", "No current workflow.",
]  # fmt: skip
TEMPLATES = ["<name>", "[workflow name]", "{name}", "{{ workflow }}", "[Your Workflow Name]", "<Name> - <Details>"]  # fmt: skip
NAMES = [
    "None of the above", "Nana", "NA - North America", "Nullable columns", "No workflow left behind", "Idle timeout", "[Feature] Login", "TBD removal",
    "Unknown hosts", "<b>X</b> rollout", "No-code editor", "Tbilisi", "Dash - a dashboard", "✅",
]  # fmt: skip


@pytest.mark.parametrize("value", NOTHING)
@pytest.mark.parametrize("phase", ["", "Phase: 1/2 - X\n"])
def test_a_workflow_that_is_none_is_none(
    local: Callable[[str], Looked], value: str, phase: str
) -> None:
    """Agents write it to say that nothing is active; a later field does not fill the gap."""
    looked = local(f"# Workflow State\n\nWorkflow: {value}\n{phase}\nWorkflow: Old\n")
    assert (looked.declaration, looked.closed) == (None, None)
    assert looked.reason == f"its workflow is '{bare(value)}' (line 3)"
    assert local(f"# Workflow State: {value}\n{phase}").declaration is None


@pytest.mark.parametrize("value", TEMPLATES)
def test_a_template_declares_nothing(local: Callable[[str], Looked], value: str) -> None:
    """What was never filled in; what is filled in below it counts."""
    text = f"# Workflow State\n\nWorkflow: {value}\nPhase: [N]/[M] - [Phase Name]\n"
    assert local(text).declaration is None
    assert local(f"---\nworkflow: '{value}'\n---\n").declaration is None
    found = local(f"{text}Workflow: X\nPhase: 1/2\n").declaration
    assert found is not None
    assert (found.workflow, found.phase) == ("X", PhaseMark(1, 2))


@pytest.mark.parametrize("value", NAMES)
def test_names_that_begin_like_nothing(value: str) -> None:
    """A name is more than its first word."""
    assert not says_nothing(value)
    assert not is_template(value)


@pytest.mark.parametrize("value", ["none", "N/A", "-", "TBD", "<fill in>", "(none yet)"])
def test_other_fields_that_are_none_are_not_mentioned(
    local: Callable[[str], Looked], value: str
) -> None:
    """No phase "N/A", no next action "none", no gate "-"."""
    fields = "".join(
        f"{label}: {value}\n" for label in ("Phase", "Next", "Gate", "Type", "Plan", "Reminders")
    )
    found = local(f"# Workflow State\nWorkflow: X\n{fields}").declaration
    assert found is not None
    assert (found.phase, found.next_action, found.gate) == (None, None, None)
    assert (found.type_guessed, found.key_reminders, found.plan) == (True, None, None)
    unmarked = local(f"Workflow: X\nPhase: {value}\n")
    assert unmarked.declaration is None


def test_front_matter_that_says_none(local: Callable[[str], Looked]) -> None:
    """It comes first there, too."""
    assert local("---\nworkflow: none\n---\nWorkflow: X\nPhase: 1/2\n").declaration is None
    found = local("---\nworkflow: X\nphase: N/A\nnext: none\n---\n").declaration
    assert found is not None
    assert (found.phase, found.next_action) == (None, None)


def test_a_gate_and_a_phase_name_in_a_plan_that_are_none(plan: Callable[[str], Looked]) -> None:
    """The same words mean the same in a plan."""
    found = plan("# X\nStatus: active\n\n## Phase 1: TBD\nGate: none\n- [ ] a\n").declaration
    assert found is not None
    assert (found.phases[0].name, found.phases[0].gate) == ("Phase 1", None)
