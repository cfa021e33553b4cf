"""What is written of an internal review, and the comments of a person on the pull request. Pure."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast.errors import IllegalMove
from holdfast.formats.document import moment, stamp
from holdfast.formats.gated.files import FOLDER
from holdfast.formats.gated.model import PHASES, PhaseName
from holdfast.plaintext import one_line
from holdfast.regular import decode_json

_EXPECTED = (
    "a list of objects with created_at, body and path, as "
    "`gh api repos/OWNER/REPO/pulls/N/comments` prints it"
)


def review_text(
    number: int, phase: PhaseName, iteration: int, at: str, verdict: str, text: str
) -> str:
    """review-N.md: the verdict stands in a line of its own, so that it can be found again."""
    return (
        f"# Review {number} of {phase}\n\n"
        f"Verdict: {verdict}\n"
        f"Iteration: {iteration}\n"
        f"Time: {at}\n\n"
        f"{text.strip()}\n"
    )


def said_in(review: str) -> str:
    """What the reviewer wrote into a review-N.md, without the lines that `review_text` adds."""
    return _ADDED.sub("", review).strip()


_ADDED = re.compile(r"\A# Review \d+ of .*\n\nVerdict: .*\nIteration: .*\nTime: .*\n\n")


class Comment(NamedTuple):
    """What a person wrote on the pull request."""

    created_at: str
    path: str
    body: str
    who: str
    line: int | None

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}, {self.who}:\n{self.body.strip()}"


def comments_of(raw: bytes) -> list[Comment]:
    """The comments that the service's answer *raw* holds, in the order of their times."""
    try:
        data = _pages(raw)
    except ValueError as error:
        raise IllegalMove(
            f"the comments are no JSON: {error}", hint=f"Expected: {_EXPECTED}."
        ) from error
    if not isinstance(data, list):
        raise IllegalMove("the comments are no list", hint=f"Expected: {_EXPECTED}.")
    comments = [_comment(at, entry) for at, entry in enumerate(data)]
    return sorted(comments, key=lambda each: each.created_at)


def _pages(raw: bytes) -> object:
    """The answer as one list: with --paginate it may be several, one after another or in a list."""
    try:
        data = decode_json(raw)
    except ValueError:
        data = _one_after_another(raw)
    if isinstance(data, list) and data and all(isinstance(each, list) for each in data):
        return [comment for page in data for comment in page]
    return data


def _one_after_another(raw: bytes) -> list[object]:
    """Several JSON texts, or the ValueError of the first that is none."""
    ends = [match.end() for match in _BETWEEN_PAGES.finditer(raw)]
    found, begin = [], 0
    for end in [*(each - 1 for each in ends), len(raw)]:
        with contextlib.suppress(ValueError):  # a text of a comment may look like an end
            found.append(decode_json(raw[begin:end]))
            begin = end
    if begin != len(raw) or not all(isinstance(each, list) for each in found):
        decode_json(raw)
    return found


_BETWEEN_PAGES = re.compile(rb"\]\s*\[")


def _comment(at: int, entry: Any) -> Comment:
    match entry:
        case {"created_at": str(created), "body": str(body), "path": str(path)} if time := moment(
            created
        ):
            user = entry.get("user")
            login = user.get("login") if isinstance(user, dict) else None
            line = entry.get("line") or entry.get("original_line")
            return Comment(
                stamp(time),
                path,
                body,
                login if isinstance(login, str) else "somebody",
                line if isinstance(line, int) else None,
            )
    raise IllegalMove(
        f"comment {at} is none: {one_line(repr(entry), 80)}", hint=f"Expected: {_EXPECTED}."
    )


def since(comments: Sequence[Comment], last_reviewed_at: object) -> list[Comment]:
    """Those that nobody has worked on yet."""
    last = moment(last_reviewed_at)
    return [each for each in comments if last is None or _time(each) > last]


def _time(comment: Comment) -> Any:
    return moment(comment.created_at)


def aggregated(comments: Sequence[Comment]) -> str:
    """All of them as the feedback that a creator works from."""
    return "\n\n".join(str(each) for each in comments)


def earliest_phase(comments: Sequence[Comment], slug: str) -> PhaseName | None:
    """The first phase on whose files somebody commented; paths begin at the top of the checkout."""
    pattern = re.compile(rf"(?:.*/)?{FOLDER}/{re.escape(slug)}/({'|'.join(PHASES)})/")
    named = {match[1] for each in comments if (match := pattern.match(each.path))}
    return next((phase for phase in PHASES if phase in named), None)
