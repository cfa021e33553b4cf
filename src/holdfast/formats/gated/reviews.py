"""Reviews: the files that internal reviewers leave, and the comments of a person on the pull request.

Anybody may write a review. A verdict counts where it stands as one, not where a sentence mentions it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError

from holdfast.errors import IllegalMove
from holdfast.files.regular import exceeds_json_limit
from holdfast.formats.engine.document import moment, problems_of
from holdfast.formats.gated.files import FOLDER
from holdfast.formats.gated.model import APPROVED, NEEDS_REVISION, PHASES, PhaseName


class Review(NamedTuple):
    """An internal review, to be written into reviews/."""

    verdict: str
    text: str
    iteration: int
    phase: PhaseName

    def written(self, number: int, at: str) -> bytes:
        """review-N.md, with the verdict on a line of its own, so that `verdict_of` finds it again."""
        return (
            f"# Review {number} of {self.phase}\n\n"
            f"Verdict: {self.verdict}\n"
            f"Iteration: {self.iteration}\n"
            f"Time: {at}\n\n"
            f"{self.text.strip()}\n"
        ).encode()


_HEADER = re.compile(r"\A# Review \d+ of .*\n\nVerdict: .*\nIteration: .*\nTime: .*\n\n")


def reviewers_text(written: str) -> str:
    """What the reviewer said in a review-N.md, without the lines that we put before it."""
    return _HEADER.sub("", written).strip()


# What may stand around an emphasised word, and between a label and its value.
_MARKS = r"[#>|*_`~\s✅❌⚠\ufe0f-]*"
_WORD = r"(?P<verdict>approved|needs[ _-]revision)"
_LONGEST_LINE = 300  # longer lines are prose
_LABEL = r"(?:(?:final|overall|review(?:er)?)\s+)?(?:verdict|status|result|decision|outcome)"
_VERDICTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # A label and its value, also in a table: **Status**: Needs revision (2 issues)
        rf"{_MARKS}{_LABEL}{_MARKS}[:=|–—]{_MARKS}{_WORD}[*_`]*\s*(?:\|?\s*|[.,;:!(\[–—].*)",
        # A heading that ends in the word: ## Review 2 - Approved
        rf"#{{1,6}}\s(?:.*[:–—-])?{_MARKS}{_WORD}[*_`]*[.!]?\s*",
        # Nothing but the word.
        rf"{_MARKS}{_WORD}[*_`]*[.!]?\s*",
    )
)


def verdict_of(review: str) -> str | None:
    """The verdict in the last line that is one: NEEDS_REVISION or APPROVED."""
    for line in reversed(review.splitlines()):
        if len(line) <= _LONGEST_LINE:
            for pattern in _VERDICTS:
                if match := pattern.fullmatch(line):
                    return APPROVED if match["verdict"].lower() == "approved" else NEEDS_REVISION
    return None


# Comments on the pull request.

_EXPECTED = (
    "a list of objects with created_at, body and path, as "
    "`gh api repos/OWNER/REPO/pulls/N/comments` prints it"
)


def _whole_second(value: object) -> datetime:
    at = moment(value)
    if at is None:
        raise ValueError("a time in ISO 8601")
    return at.replace(microsecond=0)  # as last_reviewed_at, which it is compared with


class Comment(BaseModel):
    """What a person wrote on the pull request."""

    at: Annotated[datetime, BeforeValidator(_whole_second), Field(alias="created_at")]
    path: str
    body: str
    user: dict[str, Any] | None = None
    line: int | None = None
    original_line: int | None = None

    def __str__(self) -> str:
        line, who = self.line or self.original_line, (self.user or {}).get("login", "somebody")
        place = f"{self.path}:{line}" if line else self.path
        return f"{place}, {who}:\n{self.body.strip()}"


def parse_comments(raw: bytes) -> list[Comment]:
    """The comments in *raw*, the service's answer, ordered by time."""
    try:
        comments = TypeAdapter(list[Comment]).validate_python([*_objects(raw)])
    except ValidationError as error:
        cause = f"the comments cannot be used: {problems_of(error)[0]}"
        raise IllegalMove(cause, hint=f"Expected: {_EXPECTED}.") from error
    except (ValueError, RecursionError) as error:
        cause = f"the comments are not JSON: {error}"
        raise IllegalMove(cause, hint=f"Expected: {_EXPECTED}.") from error
    return sorted(comments, key=lambda comment: comment.at)


def _objects(raw: bytes) -> Iterator[object]:
    """What is in the JSON texts in *raw*: --paginate prints one for each page, and --slurp a list of pages."""
    if exceeds_json_limit(raw):
        raise ValueError("more objects and lists than there is room for")
    text = raw.decode("utf-8-sig").strip()
    while True:
        page, end = json.JSONDecoder().raw_decode(text)
        yield from _flattened(page)
        text = text[end:].lstrip()
        if not text:
            return


def _flattened(page: object) -> Iterator[object]:
    if isinstance(page, list):
        for inner in page:
            yield from _flattened(inner)
    else:
        yield page


def since(comments: Sequence[Comment], last_reviewed_at: object) -> list[Comment]:
    """The comments that nobody has handled yet."""
    last = moment(last_reviewed_at)
    return [comment for comment in comments if last is None or comment.at > last]


def earliest_phase(comments: Sequence[Comment], slug: str) -> PhaseName | None:
    """The first phase whose files have comments; paths begin at the top of the checkout."""
    pattern = re.compile(rf"(?:.*/)?{FOLDER}/{re.escape(slug)}/({'|'.join(PHASES)})/")
    named = {match[1] for comment in comments if (match := pattern.match(comment.path))}
    return next((phase for phase in PHASES if phase in named), None)
