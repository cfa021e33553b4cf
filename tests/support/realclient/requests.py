"""Questions that tests ask of the requests that the stand-in recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from realclient.standin import Request

# With these words the client opens a conversation that was compacted.
CONTINUED = "This session is being continued from a previous conversation"


def summaries(requests: Sequence[Request]) -> list[Request]:
    """The requests in which the client asked for a summary, in order."""
    return [request for request in requests if request.is_summary]


def first_after(requests: Sequence[Request], compaction: int = 1) -> Request:
    """The first request of the conversation after the n-th compaction."""
    summary = summaries(requests)[compaction - 1]
    return next(
        request
        for request in requests[summary.number :]
        if request.tools and not request.is_summary and CONTINUED in request.text
    )


def asking(requests: Sequence[Request], text: str) -> Request:
    """The first request that holds a text, to be used with a prompt that is said only once."""
    return next(request for request in requests if text in request.text)


def additional_instructions(summary: Request) -> str:
    """What the client adds to its own prompt for the summariser: the person's and the hooks'."""
    return summary.last_user_text.partition("Additional Instructions:\n")[2]


def words(printed: Any) -> str:
    """Every string in what the client printed."""
    return "\n".join(_strings(printed))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
