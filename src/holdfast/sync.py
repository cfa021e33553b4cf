"""The one use case behind every hook and command: find the root, detect, merge, save."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from holdfast import (
    delivery,
    forecast,
    hooklog,
    journal,
    ledger,
    observing,
    project,
    sessions,
    settings,
    sidecar,
)
from holdfast.capabilities import USUAL, Capabilities
from holdfast.clock import Clock, ago
from holdfast.errors import HoldfastError, NewerRecord, StateOutOfReach
from holdfast.formats import registry
from holdfast.formats.base import Format, Place, Survey, Workflow
from holdfast.hooklog import Entry
from holdfast.project import Surroundings
from holdfast.records import Record, made
from holdfast.selection import Choice, Circumstances, choose
from holdfast.store import HOOK_WAIT, Store

_OF_INTEREST = timedelta(days=1)  # for so long another session may still be at work


class Synced(Record, frozen=False):
    """All workflows of the project as they are now, and what came of saving them."""

    place: Place
    cwd: str
    session: str | None
    state_dir: str | None
    claim: sessions.Claim | None
    workflows: list[Workflow] = made(factory=list)
    looked: list[tuple[str, str]] = made(factory=list)
    notes: list[str] = made(factory=list)
    saved: list[str] = made(factory=list)
    failure: HoldfastError | None = None
    hidden: bool = False  # whether the system did not let us see all that there is
    due: bool = False  # whether there was something to be written
    searched: Sequence[str] = ()
    config_file: str | None = None  # the user's settings
    waited: bool = False  # for a lock, and in vain
    takes: Capabilities = USUAL  # what whoever asks can take

    @property
    def root(self) -> str:
        return str(self.place.root)

    def choice(self, of: str = "") -> Choice:
        """The workflow that this session gets; with *of*, among those of that format."""
        among = [each for each in self.workflows if of in {"", each.format}]
        if not of and self._own_is_out_of_reach():
            return Choice(None, "what this session works on cannot be read now", tuple(among))
        return choose(
            among,
            Circumstances(
                now=self.place.now,
                branch=self.place.branch,
                claim=self.claim,
                others=sessions.others(self.state_dir, self.session, self.root),
            ),
        )

    def _own_is_out_of_reach(self) -> bool:
        """Whether the session's workflow may be where the system does not let us look."""
        own = self.claim.workflow if self.claim and self.claim.root == self.root else ""
        return self.hidden and bool(own) and all(each.key != own for each in self.workflows)

    def observe(self, workflow: Workflow | None, wait: float) -> None:
        """Fold what hooks noted of this session into what is kept of it and of *workflow*.

        That it fails is no reason to fail a save: it is said, and folded with the next one.
        """
        elsewhere = self.claim is not None and self.claim.root != self.root
        if workflow is None or elsewhere or self.failure or not self.place.settings.observe:
            return
        # What was noted is of the workflow that the session was on then.
        was = journal.belongs_to(self.state_dir, self.session) or (self.root, workflow.key)
        known = (each for each in self.workflows if (self.root, each.key) == was)
        try:
            of = workflow if was == (self.root, workflow.key) else next(known, None)
            observing.fold(self.place, of, self.state_dir, self.session, wait)
            if of is not workflow:  # which phase this one is in is noted, too
                observing.fold(self.place, workflow, self.state_dir, self.session, wait)
        except NewerRecord:
            return  # which `run` has noted
        except HoldfastError as error:
            self.waited = True
            self.notes.append(f"what was observed is not saved yet: {error.cause}")
            return
        journal.begin(self.state_dir, self.session, self.root, workflow.key)

    def observed(self, workflow: Workflow) -> dict[str, Any]:
        """What was seen of *workflow* and of this session, also what is not folded yet."""
        was = journal.belongs_to(self.state_dir, self.session)
        own = was == (self.root, workflow.key) if was else workflow is self.choice().chosen
        unfolded = journal.peek(self.state_dir, self.session) if own else []
        return observing.facts(self.place, workflow, self.session, unfolded)

    def sidecars_left_alone(self) -> list[str]:
        """What to say where a newer Holdfast keeps what was observed and counted."""
        keys = [each.key for each in self.workflows if each.standing == "active"]
        keys += [sidecar.of_session(self.session)] if self.session else []
        return sidecar.left_alone(self.place.store, keys)

    def told(self) -> None:
        """The person has seen the notes; they need not be repeated."""
        if not self.takes.shows:
            return
        store = self.place.store
        entries = ledger.load(store)
        if self.failure or entries.newer or not entries.untold:
            return
        try:
            with store.lock(HOOK_WAIT):
                entries = ledger.load(store)
                entries.untold = [line for line in entries.untold if line not in self.notes]
                ledger.save(store, entries, self.place.now)
        except HoldfastError:
            return  # then they are told once more

    def begin_here(self) -> None:
        """Record that this session began here, so that it stays with this root wherever it goes."""
        if self.session and self.claim is None:
            at = self.place.now.isoformat()
            self.claim = sessions.Claim(self.session, self.root, "", at, "")
            sessions.remember(self.state_dir, self.claim, self.place.now)

    def heard_of(self) -> None:
        """This session is still there."""
        if self.claim:
            sessions.remember(self.state_dir, self.claim, self.place.now)

    def elsewhere(self, workflow: Workflow) -> str:
        """That another session works on *workflow* as well, in one line; empty where none does."""
        if not self.session:
            return ""
        key = workflow.part_of or workflow.key
        claims = sessions.others(self.state_dir, self.session, self.root)
        heard = [
            at
            for each in claims
            if each.workflow == key and (at := sessions.last_heard(self.state_dir, each.session))
        ]
        last = max(heard, default=None)
        if last is None or self.place.now - last > _OF_INTEREST:
            return ""
        return f"another session worked on it {ago(last, self.place.now)}"

    def has(self, workflow: Workflow) -> bool:
        """Whether this session owns *workflow* already."""
        key, claim = workflow.part_of or workflow.key, self.claim
        return claim is not None and (claim.root, claim.workflow) == (self.root, key)

    def take(self, workflow: Workflow) -> None:
        """Record that this session owns *workflow*, from now on or still."""
        if not self.session:
            return
        if not self.has(workflow):
            forecast.forget(self.state_dir, self.session)
            delivery.forget(self.state_dir, self.session)
            local = (each for each in self.workflows if each.declared == "local")
            declared = next((each.key for each in local if each.standing == "active"), "")
            at = self.place.now.isoformat()
            key = workflow.part_of or workflow.key
            self.claim = sessions.Claim(self.session, self.root, key, at, declared)
        self.heard_of()


def place_for(
    cwd: str,
    claim: sessions.Claim | None,
    surroundings: Surroundings,
    clock: Clock,
    saver: str = "",
) -> Place:
    """Where the workflow of a session with *claim*, called from *cwd*, is kept."""
    now = clock.now()
    branch = project.branch(os.path.realpath(cwd))
    user_file = surroundings.config_file

    def place(root: str) -> Place:
        loaded = settings.load(root, user_file)
        checkout = project.branch(root)
        return Place(
            Store(root),
            loaded.settings,
            now,
            branch or checkout,
            checkout,
            loaded.problems,
            saver,
            surroundings.played,
            hooklog.folder(surroundings.state_dir, root) if surroundings.state_dir else None,
        )

    def present(root: str) -> bool:
        here = place(root)
        return any(_is_present(each, here) for each in registry.at(here))

    folders = project.candidates(cwd, surroundings.client_project)
    if claim:
        folders.insert(0, claim.root)
    fallback = project.root_for_new(cwd, surroundings.client_project)
    return place(project.locate(folders, present, fallback))


def run(
    cwd: str,
    session: str | None,
    surroundings: Surroundings,
    clock: Clock,
    *,
    wait: float | None,
    saver: str = "",
    stay: bool = True,
    thorough: bool = False,
) -> Synced:
    """Bring every workflow of the project up to date; with *wait* None without writing.

    *saver* is the event or command that it is done for, and is noted with what is saved. A session
    stays with the root that is recorded for it, unless *stay* is false. With *thorough*, `looked`
    also tells of formats of which there is no sign here.
    """
    claim = sessions.recall(surroundings.state_dir, session)
    place = place_for(cwd, claim if stay else None, surroundings, clock, saver)
    synced = Synced(place, cwd, session, surroundings.state_dir, claim)
    synced.searched = project.candidates(cwd, surroundings.client_project)
    synced.config_file = surroundings.config_file
    synced.takes = surroundings.takes
    synced.notes += place.problems
    if not place.settings.enabled:
        return synced
    for each in registry.every() if thorough else registry.at(place):
        survey = _survey(each, place, wait)
        synced.workflows += survey.workflows
        synced.looked += survey.looked
        synced.notes += survey.notes
        synced.saved += survey.saved
        synced.due = synced.due or survey.due
        synced.failure = synced.failure or survey.failure
        synced.hidden = synced.hidden or isinstance(survey.failure, StateOutOfReach)
    untold = ledger.load(place.store).untold
    synced.notes = list(dict.fromkeys([*synced.notes, *untold]))
    synced.notes += synced.sidecars_left_alone()
    chosen = synced.choice().chosen if wait is not None else None
    if wait is not None and chosen:
        # What was saved just now may be in another phase, which begins a new list of files.
        if synced.saved or journal.waiting(synced.state_dir, session):
            synced.observe(chosen, wait)
        elif place.settings.observe:
            journal.begin(synced.state_dir, session, synced.root, chosen.key)
    return synced


def _is_present(of: Format, place: Place) -> bool:
    try:
        return of.present(place)
    except StateOutOfReach:  # there is something
        return True


def _survey(of: Format, place: Place, wait: float | None) -> Survey:
    try:
        return of.sync(place, wait)
    except StateOutOfReach as error:  # the other formats may be well
        # Who saves tells the failure itself.
        notes = [f"{error.path} could not be read: {error.reason}"] if wait is None else []
        return Survey(looked=[(str(error.path), error.reason)], notes=notes, failure=error)


def follow(
    path: str, session: str | None, surroundings: Surroundings, clock: Clock, entry: Entry
) -> None:
    """An edit of *path*, which may declare a workflow, goes into the state at once."""
    cwd, saver = surroundings.cwd, entry.event
    synced = run(cwd, session, surroundings, clock, wait=HOOK_WAIT, saver=saver)
    entry.root = synced.root
    entry.why += synced.notes
    if synced.failure:
        raise synced.failure
    if synced.saved:
        entry.decided, entry.quiet = f"saved {len(synced.saved)}", False
        entry.why += [f"{path} changed", *(f"saved {name!r}" for name in synced.saved)]
