"""PreToolUse: the guard of state files, and the gate while required reading is still unopened.

The gate never traps: it says its word once, or denies a few times, and then lets the work go on. The
guard denies as often as it is asked, since what it denies can be done by a command.
"""

from __future__ import annotations

from holdfast.agents.events import WRITES, PreToolUse
from holdfast.agents.replies import Decision, Denied, Reminder
from holdfast.clock import Clock
from holdfast.config import project, settings
from holdfast.config.project import Surroundings
from holdfast.config.settings import Settings
from holdfast.restoring import delivery, watching
from holdfast.restoring.watching import Guarded

MOST_DENIALS = 3  # after one restore


def handle(event: PreToolUse, here: Surroundings, clock: Clock) -> Decision:
    for state_file in watching.files_meant(event.path, here):
        if _is_guarded(state_file, event, here):
            return _keep_off(state_file, event)
    if event.request.agent_id:  # what it was not sent, its caller has to read
        return Decision()
    return _gate(event, here, clock)


def _is_guarded(state_file: Guarded, event: PreToolUse, here: Surroundings) -> bool:
    configured = settings.load(state_file.root, here.config_file).settings
    if not configured.enabled or configured.guard == "off":
        return False
    return configured.guard == "all" or bool(event.request.agent_id)


def _keep_off(state_file: Guarded, event: PreToolUse) -> Decision:
    from holdfast.formats import registry  # noqa: PLC0415
    from holdfast.restoring import guidance  # noqa: PLC0415  # as below

    commands = f"holdfast {registry.named(state_file.format).group}".rstrip()
    subagent = bool(event.request.agent_id)
    denied = Denied(guidance.guarded(state_file.path, commands, subagent=subagent))
    decided = f"denied {event.tool}: {state_file.path} is guarded"
    return Decision(denied, decided, root=state_file.root)


def gates(here: Surroundings) -> dict[str, tuple[str, int]] | None:
    """What the gate notes when it says its word, and how often it does, by folder; None where files are guarded."""
    found = {}
    for folder in project.candidates(here.cwd, here.client_project, here.inputs):
        configured = settings.load(folder, here.config_file, here.inputs).settings
        if configured.enabled and configured.guard != "off":
            return None
        found[folder] = _word(configured)
    return found


def _word(configured: Settings) -> tuple[str, int]:
    """What is noted when the gate says its word, and how often it does."""
    if not configured.enabled or configured.gate == "off":
        return "reminded", 0
    return ("denied", MOST_DENIALS) if configured.gate == "block" else ("reminded", 1)


def _gate(event: PreToolUse, here: Surroundings, clock: Clock) -> Decision:
    state_dir, session = here.state_dir, event.request.session
    due = delivery.recall(state_dir, session) if event.tool in WRITES else None
    left = due.left() if due else []
    if due is None or not left:
        return Decision()
    kind, most = _word(settings.load(due.root, here.config_file).settings)
    if due.is_over(kind, most) or delivery.take_turn(state_dir, session, kind, clock.now()) > most:
        return Decision()
    # Imported here: most calls end above, and they must cost next to nothing.
    from holdfast.restoring import guidance  # noqa: PLC0415
    from holdfast.text.plaintext import counted  # noqa: PLC0415

    unread = counted(len(left), "unread file")
    text = guidance.unread(due.name, left, denied=kind == "denied")
    if kind == "denied":
        return Decision(Denied(text), f"denied {event.tool}: {unread}", root=due.root)
    return Decision(Reminder(text), f"reminded of {unread}", root=due.root)
