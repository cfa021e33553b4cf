"""Texts and comments that are given to a command: as an argument, in a file, or on stdin."""

from __future__ import annotations

import sys

import click

from holdfast.decoding import decode
from holdfast.errors import IllegalMove, StateUnreadable
from holdfast.formats.gated.reviews import Comment, comments_of
from holdfast.formats.gated.user_review import Said
from holdfast.regular import read_file
from holdfast.store import LARGEST

_STDIN = "-"

text_argument = click.argument("text", required=False)
file_option = click.option("--file", "file", metavar="FILE", help="Where the text is; - for stdin.")
comments_option = click.option(
    "--comments",
    metavar="FILE",
    help="What `gh api repos/OWNER/REPO/pulls/N/comments` printed; - for stdin.",
)
by_option = click.option("--by", metavar="WHO", help="Who decided.")
pr_option = click.option("--pr", metavar="URL|NUMBER", help="The pull request.")


def text_of(text: str | None, file: str | None, what: str) -> str:
    """The text that was given in one of the ways."""
    if (text is None) == (file is None):
        raise click.UsageError(f"Give {what} as text, or with --file, or - for stdin.")
    path = _STDIN if text == _STDIN else file
    found = decode(_raw(path)) if path is not None else text or ""
    if not found.strip():
        raise IllegalMove(f"{what} is empty", hint="Give it as text, with --file, or on stdin.")
    return found.strip()


def comments_in(path: str | None) -> list[Comment] | None:
    return None if path is None else comments_of(_raw(path))


def said(text: str | None, file: str | None, comments: str | None) -> Said:
    """What a person wants changed."""
    if comments is None:
        return Said(text_of(text, file, "what is to be changed"))
    if text is not None or file is not None:
        raise click.UsageError("Give a text or --comments, not both.")
    return Said(comments=comments_in(comments))


def _raw(path: str) -> bytes:
    if path != _STDIN:
        try:
            return read_file(path, LARGEST)[0]
        except StateUnreadable as error:
            raise IllegalMove(f"{path} cannot be read: {error.reason}") from error
    raw = sys.stdin.buffer.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise IllegalMove(f"stdin has more than {LARGEST} bytes")
    return raw
