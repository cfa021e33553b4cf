"""Where the workflow of a session stands, looked up anew for the status line, and prepared for the next time."""

from __future__ import annotations

from holdfast.clock import Clock
from holdfast.hooks import boundary, dispatch
from holdfast.hooks.statusline import Standing, Status
from holdfast.plaintext import one_line
from holdfast.project import Surroundings, candidates
from holdfast.settings import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.formats.base import Workflow


def look(status: Status) -> Standing | None:
    """None where there is no workflow."""
    known, clock = Surroundings.from_environment(), Clock.from_environment()
    here = known._replace(cwd=status.cwd or known.cwd, client_project=status.started or None)
    configured = load(None, here.config_file).settings
    folders = candidates(here.cwd, here.client_project)
    session = status.session or None
    found = None
    if configured.enabled and dispatch.worth_a_look(
        folders, configured.plans, here.state_dir, session
    ):
        from holdfast import sync

        synced = sync.run(here.cwd, session, here, clock, wait=None)
        found = synced.choice().chosen
    boundary.quietly(lambda: _prepare(here, session, clock), None)
    return told(found) if found else None


def _prepare(here: Surroundings, session: str | None, clock: Clock) -> None:
    from holdfast.hooks import preparing

    preparing.for_status(here, session, clock)


def told(workflow: Workflow) -> Standing:
    briefing = workflow.briefing
    return Standing(
        one_line(briefing.name),
        briefing.count,
        one_line(briefing.phase_title),
        one_line(briefing.status, 20).replace("_", " "),
        workflow.behind,
    )
