"""The use cases behind every hook and command: find the root, look at all workflows, save what is due, take one up.

What a `ProjectView` does itself writes nothing; what writes is a function of this module.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from holdfast.clock import Clock, ago
from holdfast.config import project, settings
from holdfast.config.capabilities import Capabilities
from holdfast.config.project import Surroundings
from holdfast.config.settings import Settings
from holdfast.errors import HoldfastError, IllegalMove, NewerRecord, StateOutOfReach
from holdfast.files.regular import contains
from holdfast.files.store import COMMAND_WAIT, HOOK_WAIT, Store
from holdfast.formats import registry
from holdfast.formats.engine.format import AnyFormat
from holdfast.formats.engine.workflow import CandidatePlan, Place, Survey, Workflow
from holdfast.records import hooklog, ledger, sessionlog
from holdfast.records import session as sessions
from holdfast.records.session import Session
from holdfast.text.plaintext import one_line
from holdfast.workflows import activity
from holdfast.workflows.selection import Choice, Circumstances, choose

_MOST_BEFORE = 50  # workflows remembered for a session
_MOST_OTHERS = 10  # sessions whose work on the same workflow is told
_OF_INTEREST = timedelta(days=1)  # how long another session may still be at work


@dataclass(slots=True, kw_only=True, eq=False)
class ProjectView:
    """All workflows of the project as they are now, and which one the session gets."""

    place: Place
    cwd: str
    session: str | None
    state_dir: str | None
    owned: Session | None  # the session's record
    searched: Sequence[str]  # the folders that may be the root
    capabilities: Capabilities  # the caller's capabilities
    only: str | None = None  # the one format that was looked at; None for all
    surveys: dict[str, Survey] = field(default_factory=dict)  # by format
    # Results.
    workflows: list[Workflow] = field(default_factory=list)
    looked: list[tuple[str, str]] = field(default_factory=list)
    candidates: list[CandidatePlan] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    once: dict[str, str] = field(default_factory=dict)  # files that a note is about: their versions
    saved: list[str] = field(default_factory=list)
    due: bool = False
    choices: dict[tuple[object, ...], Choice] = field(default_factory=dict)  # made before

    @property
    def root(self) -> str:
        return str(self.place.root)

    @property
    def failures(self) -> dict[str, HoldfastError]:
        """Why formats could not be looked at or saved, by their names."""
        return {name: found.failure for name, found in self.surveys.items() if found.failure}

    @property
    def failure(self) -> HoldfastError | None:
        """The first failure."""
        return next(iter(self.failures.values()), None)

    @property
    def saves(self) -> list[str]:
        """What was saved, and what could not be, one line each."""
        lines = [f"saved {name!r}" for name in self.saved]
        return lines + [f"{name}: not saved: {why.cause}" for name, why in self.failures.items()]

    def choice(self, of: str = "") -> Choice:
        """The workflow that this session gets; with *of*, among those of that format."""
        asked = of, self.owned
        if asked not in self.choices:
            among = [workflow for workflow in self.workflows if of in {"", workflow.format}]
            now, branch = self.place.now, self.place.branch
            if not of and self._own_is_out_of_reach():
                choice = Choice(None, "what this session works on cannot be read now", tuple(among))
            else:
                choice = choose(among, Circumstances(now, branch, self.owned, self._others()))
            self.choices[asked] = choice
        return self.choices[asked]

    def _others(self) -> list[Session]:
        """The other sessions with a workflow here."""
        inputs = self.place.store.inputs
        return sessions.others(self.state_dir, self.session, self.root, inputs)

    def _own_is_out_of_reach(self) -> bool:
        """Whether the session's workflow may be where the system does not let us look."""
        hidden = any(isinstance(failure, StateOutOfReach) for failure in self.failures.values())
        own = self.owned.workflow if self.owned and self.owned.root == self.root else ""
        return hidden and bool(own) and own not in {workflow.key for workflow in self.workflows}

    def refuse_failed(self, format_name: str) -> None:
        """Raise if that format's workflows could not be read or saved."""
        if failure := self.failures.get(format_name):
            raise failure

    def observed(self, workflow: Workflow) -> dict[str, Any]:
        """What was seen of *workflow*, by any session, and of this session."""
        if not self.place.settings.observe:
            return activity.facts(activity.Work(), activity.session_in([], self.place.now))
        chosen, on = self.choice().chosen, (self.root, workflow.key)
        at_first = (self.root, chosen.key) if chosen else None
        own, inputs = sessionlog.content(self.state_dir, self.session), self.place.store.inputs
        lines = [line for line in sessionlog.work_in(own) if (line["on"] or at_first) == on]
        others = [it for it in self._others() if workflow.key in {it.workflow, *it.before}]
        for other in sorted(others, key=lambda other: other.since)[-_MOST_OTHERS:]:
            log = sessions.log_of(self.state_dir, other.id, inputs)
            lines += [line for line in sessionlog.work_in(log) if line["on"] == on]
        work = activity.work_on(self.place, workflow, lines)
        of_session = sessionlog.parse(own, sessionlog.OF_SESSION)
        return activity.facts(work, activity.session_in(of_session, self.place.now))

    def elsewhere(self, workflow: Workflow) -> str:
        """A line saying that another session works on *workflow* too; empty if none does."""
        last = self.last_elsewhere(workflow) if self.session else None
        return f"another session worked on it {ago(last, self.place.now)}" if last else ""

    def last_elsewhere(self, workflow: Workflow) -> datetime | None:
        """When another session last worked on *workflow*, if it may still be at work."""
        key = workflow.part_of or workflow.key
        heard = [
            sessions.last_heard(self.state_dir, other.id, self.place.store.inputs)
            for other in self._others()
            if other.workflow == key
        ]
        last = max(filter(None, heard), default=None)
        return last if last and self.place.now - last <= _OF_INTEREST else None

    def has(self, workflow: Workflow) -> bool:
        """Whether this session owns *workflow* already."""
        key, claim = workflow.part_of or workflow.key, self.owned
        return claim is not None and (claim.root, claim.workflow) == (self.root, key)


def place_for(
    session: str | None, here: Surroundings, clock: Clock, saver: str = "", only: str | None = None
) -> Place:
    """The project root, with its settings, where the workflow of *session* lies.

    With *only*, other formats are loaded only for a folder that holds no workflow of that one.
    """
    now, cwd, inputs = clock.now(), here.cwd, here.inputs
    owned = sessions.recall(here.state_dir, session, inputs)
    branch = project.branch(inputs.real_path(cwd), inputs)

    def place(root: str) -> Place:
        loaded = settings.load(root, here.config_file, inputs)
        plans_folder = here.plans_folder(root)
        plans = (*loaded.settings.plans, *project.plans_below(root, plans_folder))
        checkout = project.branch(root, inputs)
        return Place(
            Store(root, inputs),
            loaded.settings._replace(plans=plans),
            now,
            branch or checkout,
            checkout,
            loaded.problems,
            "holdfast simulate" if here.played else saver,
            here.played,
            hooklog.folder(here.state_dir, root) if here.state_dir else None,
            cwd if branch else root,
            frozenset({owned.workflow, *owned.before} if owned and owned.root == root else ()),
            below_root(root, owned.planned) if owned and owned.root == root else "",
            inputs.real_path(plans_folder).replace(os.sep, "/"),
            _switched_off(here, loaded.settings),
        )

    def present(root: str) -> bool:
        found = place(root)
        if only and _is_present(registry.named(only), found):
            return True
        return any(_is_present(form, found) for form in registry.at(found))

    folders = project.candidates(cwd, here.client_project, inputs)
    if owned:
        folders.insert(0, owned.root)
    fallback = project.root_for_new(cwd, here.client_project, inputs)
    return place(next(filter(present, folders), fallback))


def _switched_off(here: Surroundings, configured: Settings) -> str:
    if here.disabled:
        return "HOLDFAST_DISABLE is set"
    if configured.enabled:
        return ""
    return "enabled = false is set in .claude/holdfast.toml or in your own holdfast.toml"


def below_root(root: str, path: str) -> str:
    """*path* relative to *root*, if it lies there, with forward slashes."""
    inside = os.path.relpath(path, root) if contains(root, path) else path
    return inside.replace(os.sep, "/")


def _is_present(form: AnyFormat, place: Place) -> bool:
    try:
        return form.present(place)
    except StateOutOfReach:  # something is there
        return True


def survey(
    session: str | None,
    here: Surroundings,
    clock: Clock,
    saver: str = "",
    *,
    only: str | None = None,
    place: Place | None = None,
) -> ProjectView:
    """Look at every workflow of the project.

    *saver* is the event or command that it is done for, and is noted with what is saved. A session stays with the root
    that is recorded for it, unless another *place* is given. With *only*, other formats are not looked at.
    """
    view = ProjectView(
        place=place or place_for(session, here, clock, saver, only),
        cwd=here.cwd,
        session=session,
        state_dir=here.state_dir,
        owned=sessions.recall(here.state_dir, session, here.inputs),
        searched=project.candidates(here.cwd, here.client_project, here.inputs),
        capabilities=here.capabilities,
        only=only,
    )
    if not view.place.settings.enabled:
        view.only, view.notes = None, list(view.place.problems)
        return view
    _look_at(view, [registry.named(only)] if only else registry.at(view.place))
    return view


def look_everywhere(view: ProjectView) -> None:
    """Survey the formats without any sign too, so that `looked` lists them."""
    if view.place.settings.enabled:
        _look_at(view, registry.every())


def _look_at(view: ProjectView, formats: Sequence[AnyFormat]) -> None:
    for form in formats:
        if form.name in view.surveys:
            continue
        try:
            found = form.survey(view.place)
        except StateOutOfReach as error:  # the other formats may be readable
            note = f"{error.path} could not be read: {error.reason}"
            found = Survey(looked=[(str(error.path), error.reason)], notes=[note], failure=error)
        view.surveys[form.name] = found
    _gather(view)


def _gather(view: ProjectView) -> None:
    """Combine the surveys."""
    found = view.surveys.values()
    notices = [] if view.only else ledger.load(view.place.store).notices
    view.workflows = [workflow for survey in found for workflow in survey.workflows]
    view.looked = [path for survey in found for path in survey.looked]
    view.once = {file: version for survey in found for file, version in survey.once.items()}
    view.candidates = [plan for survey in found for plan in survey.candidates]
    view.saved = [name for survey in found for name in survey.saved]
    notes = [note for survey in found for note in survey.notes]
    view.notes = list(dict.fromkeys([*view.place.problems, *notes, *notices]))
    view.due = any(survey.due for survey in found)
    view.choices.clear()


def save(view: ProjectView, wait: float) -> None:
    """Save what is due in each format that was looked at."""
    for name, found in view.surveys.items():
        if found.failure:
            found.notes.clear()  # the caller reports the failure
        else:
            registry.named(name).save_due(view.place, found, wait)
    if view.surveys:  # else Holdfast is switched off
        _gather(view)


def begin(view: ProjectView, wait: float) -> None:
    """Where the session begins with the chosen workflow, its phase has to be known before anything is observed."""
    chosen = view.choice().chosen
    if chosen and sessionlog.works_on(view.state_dir, view.session) != (view.root, chosen.key):
        observe(view, wait, chosen)


def observe(view: ProjectView, wait: float, workflow: Workflow | None = None) -> None:
    """Have what is observed from now on belong to *workflow*, or the chosen one, in its present phase."""
    workflow = workflow or view.choice().chosen
    elsewhere = view.owned is not None and view.owned.root != view.root
    if workflow is None or elsewhere or not view.place.settings.observe:
        return
    if workflow.format in view.failures:
        return
    sessionlog.begin(view.state_dir, view.session, view.root, workflow.key, view.place.now)
    try:
        activity.note_phase(view.place, workflow, wait)
    except NewerRecord:
        pass  # the notes report it
    except HoldfastError as error:
        view.notes.append(f"since when it is in its phase is not noted yet: {error.cause}")


def claim(view: ProjectView, workflow: Workflow) -> None:
    """Record that this session works on *workflow* now."""
    if view.session and not view.has(workflow):
        sessionlog.withdraw(view.state_dir, view.session, view.place.now)
    _record(view, workflow.part_of or workflow.key, follows=workflow.declared == "local")


def adopt(view: ProjectView, plan: CandidatePlan) -> None:
    """Record that this session works on *plan*, which nobody follows. It is followed at the next look."""
    _record(view, plan.key)


def note_plan(view: ProjectView, path: str) -> None:
    """Record that plan mode has written the file at *path* in this session. It is followed at the next look."""
    begin_here(view)
    if view.owned:
        view.owned = view.owned.model_copy(update={"planned": path})
        touch_session(view)


def _record(view: ProjectView, key: str, *, follows: bool = False) -> None:
    if not view.session:
        return
    last = view.owned
    known = (*last.before, last.workflow) if last and last.root == view.root else ()
    before = [other for other in known if other not in {"", key}]
    view.owned = Session(
        id=view.session,
        root=view.root,
        workflow=key,
        since=view.place.now.isoformat(),
        follows=follows,
        before=tuple(before[-_MOST_BEFORE:]),
        planned=last.planned if last else "",
    )
    touch_session(view)


def take_up(view: ProjectView, workflow: Workflow, wait: float = COMMAND_WAIT) -> None:
    """Claim *workflow*, or the one that it is part of, and observe it from now on."""
    workflow = next((other for other in view.workflows if other.key == workflow.part_of), workflow)
    claim(view, workflow)
    if workflow.standing == "finished":
        put_down(view, workflow)
    else:
        observe(view, wait, workflow)


def put_down(view: ProjectView, workflow: Workflow) -> None:
    """Release *workflow*: later observations belong to the session's next one."""
    if sessionlog.works_on(view.state_dir, view.session) == (view.root, workflow.key):
        sessionlog.append(view.state_dir, view.session, sessionlog.ON, view.place.now)
    if view.owned and view.owned.workflow == workflow.key:
        sessionlog.withdraw(view.state_dir, view.session, view.place.now)


def begin_here(view: ProjectView) -> None:
    """Record that this session began here, so that it stays with this root wherever it goes."""
    if view.session and view.owned is None:
        view.owned = Session(id=view.session, root=view.root, since=view.place.now.isoformat())
        touch_session(view)


def touch_session(view: ProjectView) -> None:
    """Record that this session is still alive."""
    if view.owned:
        sessions.touch(view.state_dir, view.owned, view.place.now)


def clear_notices(view: ProjectView) -> None:
    """Mark the notes as shown, so that they are not repeated."""
    if not view.capabilities.shows:
        return
    store = view.place.store
    record = ledger.load(store)
    if view.failures or record.newer or not (record.notices or view.once):
        return

    def clear(record: ledger.Ledger) -> None:
        record.notices = [line for line in record.notices if line not in view.notes]
        record.told |= view.once

    # If this fails, they are shown once more.
    with contextlib.suppress(HoldfastError), store.lock(HOOK_WAIT):
        ledger.change(store, clear)


def way_on(view: ProjectView) -> str:
    """What to do where no workflow is active: follow a plan, resume the last one, or start one."""
    if view.candidates:
        return str(view.candidates[0])
    ended = ledger.load(view.place.store).finished.values()
    if last := max(ended, key=lambda stone: stone.at, default=None):
        resumed = shlex.join(["holdfast", "resume", last.name])
        return f"{last.name!r} was {last.how} on {last.at[:10]}: `{one_line(resumed)}` takes it up again"
    return "Start one with `holdfast init --plan`, or `holdfast start NAME`"


class Project:
    """The project of a command or of a tool of the server; each call looks again, settings included."""

    def __init__(
        self, surroundings: Surroundings, clock: Clock, saver: Callable[[], str] = str
    ) -> None:
        self.surroundings = surroundings
        self.clock = clock
        self.saver = saver  # names who asks; it is noted with what is saved
        self.changes = False  # whether something is going to be changed

    def when_off(self, why: str) -> None:
        raise IllegalMove(f"Holdfast is switched off, because {why}")

    def place(self, only: str | None = None, *, stay: bool = True) -> Place:
        """Where workflows are kept, without reading them; *only* as for `survey`.

        With *stay* false it is the project around the current directory, wherever the session was.
        """
        session = self.surroundings.session if stay else None
        place = place_for(session, self.surroundings, self.clock, self.saver(), only)
        if place.off:
            self.when_off(place.off)
        return place

    def look(self, only: str | None = None, *, stay: bool = True) -> ProjectView:
        """The project as it is now; read-only."""
        here, place = self.surroundings, self.place(only, stay=stay)
        return survey(here.session, here, self.clock, only=only, place=place)

    def change(
        self, only: str | None = None, *, save_due: bool = True, stay: bool = True
    ) -> ProjectView:
        """The project as it is now, for a caller that will write. With *save_due*, saves that first."""
        self.changes = True
        view = self.look(only, stay=stay)
        hooklog.note_project(view.place.user_folder, view.root)
        if save_due:
            save(view, COMMAND_WAIT)
        if only:
            view.refuse_failed(only)
        return view
