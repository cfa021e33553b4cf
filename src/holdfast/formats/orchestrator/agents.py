"""The agents that a run has sent off, and which of them give no sign of life.

The document has the time when an agent was started, and nothing of what came after. That it lives is
told by any change of its entry, such as an iteration, and by `agent beat`; we note when, in our own
folder. One that is silent for too long is marked wherever agents are listed, and stays: only the
orchestrator knows whether to send another one. `reap` removes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from holdfast import clock, sidecar
from holdfast.errors import IllegalMove
from holdfast.formats.document import moment
from holdfast.formats.orchestrator import bounds, files
from holdfast.formats.orchestrator.model import AGENT_STATUSES, Agent, State
from holdfast.formats.orchestrator.moving import moved, needed
from holdfast.store import Store

SILENT = timedelta(minutes=30)

_SIGNS = "agents"  # in the sidecar of the run: when each was last heard of


class Seen(NamedTuple):
    """An agent, and since when nothing was heard of it."""

    agent: Agent
    heard: datetime | None

    def is_stale(self, now: datetime, after: timedelta = SILENT) -> bool:
        return self.heard is not None and now - self.heard > after

    def remark(self, now: datetime) -> str:
        """Why it is marked; empty where it is not."""
        if self.heard is None or not self.is_stale(now):
            return ""
        return f"stale: last sign of life {clock.ago(self.heard, now)}"


def seen(store: Store, state: State) -> list[Seen]:
    """The agents of *state*, each with its last sign of life."""
    signs = _signs(sidecar.load(store, files.key_of(state)))
    return [_seen(each, signs) for each in state.active_agents]


def _seen(agent: Agent, signs: Mapping[str, Any]) -> Seen:
    times = (moment(agent.started), moment(signs.get(_name(agent))))
    return Seen(agent, max((at for at in times if at), default=None))


def note(store: Store, before: State | None, after: State, now: datetime) -> None:
    """Note whose entry has changed as alive at *now*, and forget who has gone; inside the lock."""
    was = {_name(each): each for each in before.active_agents} if before else {}
    changed = [each for each in after.active_agents if was.get(_name(each), each) != each]
    _hear(store, after, changed, now)


def beat(store: Store, state: State, agents: Sequence[Agent], now: datetime) -> None:
    """*agents* live; to be called inside the lock."""
    _hear(store, state, agents, now)


def _hear(store: Store, state: State, agents: Sequence[Agent], now: datetime) -> None:
    names = {_name(each) for each in state.active_agents}
    heard = {_name(each): clock.iso(now) for each in agents}

    def change(record: dict[str, Any]) -> dict[str, Any]:
        kept = {name: at for name, at in _signs(record).items() if name in names}
        return (
            {**record, _SIGNS: {**kept, **heard}} if kept or heard or _SIGNS in record else record
        )

    sidecar.put(store, files.key_of(state), change)


def _signs(record: Mapping[str, Any]) -> Mapping[str, Any]:
    signs = record.get(_SIGNS)
    return signs if isinstance(signs, dict) else {}


def _name(agent: Agent) -> str:
    return f"{agent.type} {agent.task} {agent.started}"


# Moves.


def start(state: State, at: str, kind: str, task: str) -> State:
    """An agent was sent off to work on *task*."""
    after = moved(state)
    task = needed(task, "the task")
    if any(each.type == kind and each.task == task for each in after.active_agents):
        raise IllegalMove(
            f"a {kind} is at work on task {task} already",
            hint="Do not send a second one. If it is gone: holdfast orchestrate agent done "
            f"--task {task} --type {kind}, or agent reap.",
        )
    if kind == "task-executor" and after.completed(task):
        raise IllegalMove(f"task {task} is completed", hint="See holdfast orchestrate status.")
    if kind == "task-executor":
        bounds.refuse_stopped(after, at)
    agent = Agent(type=kind, task=task, started=at, iteration=0, status="in_progress")
    after.active_agents = [*after.active_agents, agent]
    return after


def set_status(state: State, at: str, status: str, task: str | None, kind: str | None) -> State:  # noqa: ARG001  # every move gets the time
    """It works, waits, or is blocked."""
    if status not in AGENT_STATUSES:
        raise IllegalMove(
            f"{status!r} is no status of an agent", hint=f"One of {', '.join(AGENT_STATUSES)}."
        )
    after = moved(state, although_paused=True)
    one_of(after, task, kind).status = status
    return after


def done(state: State, at: str, task: str | None, kind: str | None) -> State:  # noqa: ARG001
    """It has ended."""
    after = moved(state, although_paused=True)
    ended = one_of(after, task, kind)
    after.active_agents = [each for each in after.active_agents if each is not ended]
    return after


def without(state: State, gone: Sequence[Agent]) -> State:
    """Those that are *gone* are no agents of the run any more."""
    after = moved(state, although_paused=True)
    after.active_agents = [each for each in after.active_agents if each not in gone]
    return after


def one_of(state: State, task: str | None, kind: str | None) -> Agent:
    """The agent that is meant: by its task, its type, or because it is the only one."""
    found = [
        each
        for each in state.active_agents
        if task in {None, each.task} and kind in {None, each.type}
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{each.type} on {each.task}" for each in found or state.active_agents)
    if not found:
        raise IllegalMove("there is no such agent", hint=f"At work: {names or 'none'}.")
    raise IllegalMove(f"several agents are meant: {names}", hint="Say which: --task and --type.")
