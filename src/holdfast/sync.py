"""The one use case behind every hook and command: find the root, detect, merge, save."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast import forecast, ledger, project, sessions, settings
from holdfast.clock import Clock
from holdfast.errors import HoldfastError
from holdfast.formats.base import Place, Workflow
from holdfast.formats.registry import FORMATS
from holdfast.project import Surroundings
from holdfast.selection import Choice, Circumstances, choose
from holdfast.store import HOOK_WAIT, Store


@dataclass
class Synced:
    """All workflows of the project as they are now, and what came of saving them."""

    place: Place
    cwd: str
    session: str | None
    state_dir: str | None
    claim: sessions.Claim | None
    workflows: list[Workflow] = field(default_factory=list)
    looked: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    failure: HoldfastError | None = None
    searched: Sequence[str] = ()

    @property
    def root(self) -> str:
        return str(self.place.root)

    def choice(self) -> Choice:
        """The workflow that this session gets."""
        return choose(
            self.workflows,
            Circumstances(
                now=self.place.now,
                branch=self.place.branch,
                claim=self.claim,
                others=sessions.others(self.state_dir, self.session, self.root),
            ),
        )

    def told(self) -> None:
        """The person has seen the notes; they need not be repeated."""
        store = self.place.store
        if self.failure or not ledger.load(store).untold:
            return
        try:
            with store.lock(HOOK_WAIT):
                entries = ledger.load(store)
                entries.untold = [line for line in entries.untold if line not in self.notes]
                ledger.save(store, entries, self.place.now)
        except HoldfastError:
            return  # then they are told once more

    def take(self, workflow: Workflow) -> None:
        """Record that this session owns *workflow*, from now on or still."""
        if not self.session:
            return
        same = self.claim and (self.claim.workflow, self.claim.root) == (workflow.key, self.root)
        if not same:
            forecast.forget(self.state_dir, self.session)
            local = (each for each in self.workflows if each.declared == "local")
            declared = next((each.key for each in local if each.standing == "active"), "")
            at = self.place.now.isoformat()
            self.claim = sessions.Claim(self.session, self.root, workflow.key, at, declared)
        if self.claim:
            sessions.remember(self.state_dir, self.claim, self.place.now)


def place_for(
    cwd: str, claim: sessions.Claim | None, surroundings: Surroundings, clock: Clock
) -> Place:
    """Where the workflow of a session with *claim*, called from *cwd*, is kept."""
    now = clock.now()
    branch = project.branch(os.path.realpath(cwd))
    user_file = surroundings.config_file

    def place(root: str) -> Place:
        loaded = settings.load(root, user_file)
        checkout = project.branch(root)
        return Place(
            Store(root), loaded.settings, now, branch or checkout, checkout, loaded.problems
        )

    def present(root: str) -> bool:
        here = place(root)
        return any(each.present(here) for each in FORMATS)

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
    stay: bool = True,
) -> Synced:
    """Bring every workflow of the project up to date; with *wait* None without writing.

    A session stays with the root that is recorded for it, unless *stay* is false.
    """
    claim = sessions.recall(surroundings.state_dir, session)
    place = place_for(cwd, claim if stay else None, surroundings, clock)
    synced = Synced(place, cwd, session, surroundings.state_dir, claim)
    synced.searched = project.candidates(cwd, surroundings.client_project)
    synced.notes += place.problems
    if not place.settings.enabled:
        return synced
    for each in FORMATS:
        survey = each.sync(place, wait)
        synced.workflows += survey.workflows
        synced.looked += survey.looked
        synced.notes += survey.notes
        synced.saved += survey.saved
        synced.failure = synced.failure or survey.failure
    untold = ledger.load(place.store).untold
    synced.notes = list(dict.fromkeys([*synced.notes, *untold]))
    return synced
