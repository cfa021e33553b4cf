"""PostCompact: count the compaction, and note what of the workflow its summary kept.

Nothing is said here; the next guidance stresses what was lost.
"""

from __future__ import annotations

from holdfast.agents import replies
from holdfast.agents.events import PostCompact
from holdfast.agents.replies import Decision
from holdfast.clock import Clock, iso
from holdfast.config.project import Surroundings
from holdfast.records import sessionlog
from holdfast.restoring import compactions
from holdfast.workflows import sync


def handle(event: PostCompact, here: Surroundings, clock: Clock) -> Decision:
    session = event.request.session
    view = sync.survey(session, here, clock)
    why, choice = list(view.notes), view.choice()
    decision = Decision(root=view.root, why=why, outdates=True)
    if not view.place.settings.enabled:
        return decision._replace(decided="nothing: switched off in the project's settings")
    if choice.chosen is None:
        return decision._replace(decided=f"nothing counted: {choice.why}")
    chosen = choice.chosen
    why.append(f"{chosen.name!r}: {choice.why}")
    found = compactions.check(chosen, event.summary)
    if found:
        why += [f"not kept: {fact.label}: {fact.text}" for fact in found.missing]
    lines = compactions.summarised(view.place, chosen, session, found)
    for path in sessionlog.add_all(lines, iso(view.place.now)):
        failed = replies.failed(event.request.name, f"no line could be added to {path}")
        return decision._replace(decided=failed.decided)
    noted = compactions.survived(view.place, chosen)
    decided = str(noted) if found else f"compactions: {noted.count}, no summary was given"
    return decision._replace(decided=decided)
