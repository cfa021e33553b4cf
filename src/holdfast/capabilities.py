"""What whoever asks a hook can take: all that handlers, and what lies below them, know of an agent. Light."""

from __future__ import annotations

from holdfast.room import Room

# After a compaction the workflow is told
START = "start"  # when the session starts again,
PROMPT = "prompt"  # with the next prompt, since it does not,
TRANSCRIPT = "transcript"  # or with a prompt before which the transcript tells of a compaction.


class Capabilities:
    """What can be said, when, and how much at once. The defaults are those of most agents."""

    __slots__ = ("after", "keeps_starts", "parts", "room", "shows", "starts_twice")

    def __init__(
        self,
        *,
        room: Room,
        parts: bool = False,
        after: str = START,
        starts_twice: bool = False,
        keeps_starts: bool = True,
        shows: bool = True,
    ) -> None:
        self.room = room  # of one context
        self.parts = parts  # required reading comes by hooks of its own, a context each
        self.after = after
        self.starts_twice = starts_twice  # a resumed session that is compacted at once
        self.keeps_starts = keeps_starts  # a context that is given at a start does no harm
        self.shows = shows  # a line for the person is shown

    @property
    def notes_compactions(self) -> bool:
        """Whether a later event has to know that a compaction began."""
        return self.after == PROMPT or self.starts_twice


COMMON = Capabilities(room=Room(9_500), parts=True)  # where nobody else is known to ask
