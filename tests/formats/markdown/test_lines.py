"""What a reader sees of a markdown file, against a full parser and in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from holdfast.formats.engine.markdown import Line, scan

FIVE_MB = 5_000_000
PROSE = """# A plan

**Status**: in progress, see `notes.md` and [the guide](docs/guide.md).

- [x] Something is done
- [ ] Something is <!-- not --> left

"""


def visible(body: str) -> list[str]:
    return [line.text for line in scan(body)]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (
            "# One\n## Two ##\n#hash\n#",
            [Line(1, "One", 1), Line(2, "Two", 2), Line(3, "#hash"), Line(4, "", 1)],
        ),
        ("One\n===\nTwo\n---", [Line(1, "One", 1), Line(3, "Two", 2)]),
        ("One\nTwo\n---\nThree", [Line(1, "One"), Line(2, "Two"), Line(4, "Three")]),
        ("- [ ] a\n- [x] b\n* [X] c", [Line(n, t, 0, True, n > 1) for n, t in enumerate("abc", 1)]),
        (
            "1. a\n   - b\n2) c",
            [Line(1, "a", item=True), Line(2, "b", item=True, indent=3), Line(3, "c", item=True)],
        ),
        ("- [ ]x\n- [link](a)", [Line(1, "[ ]x", item=True), Line(2, "[link](a)", item=True)]),
        ("- a\n\tb", [Line(1, "a", item=True), Line(2, "b", indent=4)]),
        ("-\ta\tb", [Line(1, "a\tb", item=True)]),
        ("- # Head", [Line(1, "Head", 1, item=True)]),
        ("***\n- - -\n___\n* * *", []),
    ],
)
def test_markers_are_taken_off(body: str, lines: list[Line]) -> None:
    """Headings, items and checkboxes are fields of a line, not part of its text."""
    assert scan(body) == lines


@pytest.mark.parametrize(
    "hidden",
    [
        "```\nX\n```",
        "````md\n```\nX\n````",
        "~~~\n```\nX\n~~~",
        "   ```\n   X\n   ```",
        "- item:\n  ```\n  X\n  ```",
        "1. item:\n\n   ```\n   X\n   ```",
        "    X",
        "- a\n\n      X",
        "\tX",
        "> X",
        ">X\n> X",
        "> text\nX",
        "> - text\nX",
        "> > text\nX",
        "- > text\nX",
        "<!-- X -->",
        "<!--\nX\n\nX\n-->",
        "text <!-- X --> text",
        "text <!--\nX\n--> text",
        "- <!-- X\n  X -->",
        "<!-- a --> b <!-- X\nX -->",
        "<pre>\nX\n</pre>",
    ],
)
def test_what_a_reader_does_not_see_is_left_out(hidden: str) -> None:
    """Code, quotes with their lazy lines, and comments hide what they hold; what follows is seen."""
    texts = visible(f"{hidden}\n\nseen")
    assert not any("X" in text for text in texts)
    assert texts[-1] == "seen"


@pytest.mark.parametrize(
    "body",
    [
        "> ```\nX",
        "> # head\nX",
        "> text\n\nX",
        "> text\n>\nX",
        "> text\n- X",
        "`<!--` X `-->`",
        "`` ` <!-- `` X",
        "text <!-- X",
        "text\n    X",
        "- a\n\n  X",
        "<!-- a --> X",
        "<!--> X",
        "``` a`b\nX",
        "- ```\n  code\n\nX",
        "\\<!-- X",
        "<div>\nX\n</div>",
    ],
)
def test_what_a_reader_sees_is_there(body: str) -> None:
    """Things that only look like code, quotes or comments hide nothing."""
    assert any("X" in text for text in visible(body))


def test_an_unclosed_fence_or_comment_runs_to_the_end() -> None:
    """As in a browser."""
    assert visible("a\n\n```\nX\n\nX") == visible("a\n\n<!--\nX\n\nX") == ["a"]


@pytest.mark.parametrize(
    "content",
    [
        "a", "a\n", "\n", "`", "` ", "``` ` ", "`\n", "<!--", "<!-- ", "<!---->", "text <!-- ` ", ">", "> ", "> \n", "> > > > > > > > - x\n",
        "[", "](", "#", "# ", "- ", "- \n", "  - x\n", "*", "* * a\n", "\t", " ", "-\t", "1. ", "~", "=", "---\n", "a\n===\n",
        "\\", "|", "| a ", "- [ ] Phase 1: a\n", "a\n<!-- ", "<pre>", "\x00", "\ud800",
    ],
)  # fmt: skip
def test_five_megabytes_of_anything_take_no_time(
    content: str, cpu: Callable[[Callable[[], object]], float]
) -> None:
    """The scan is linear, whatever it meets; fifty times some prose may cost 100 times as much."""
    body = content * (FIVE_MB // len(content))
    prose = PROSE * (FIVE_MB // 50 // len(PROSE))
    assert cpu(lambda: scan(body)) < 100 * cpu(lambda: scan(prose))


TEXTS = [
    "",
    "text",
    "more `code` text",
    "a <!-- x --> b",
    "a <!-- x",
    "`<!--`",
    "`` ` <!-- ``",
    "\\`<!-- x --> b",
    "x </pre>",
]
BLOCKS = [
    "# Head", "## Head ##", "####### text", "===", "---", "***", "- - -", "<!-- a -->", "<!--", "x -->", "<pre>",
    "> quote", ">", "> - x", "> ```", "> # x", ">     x", "```", "````", "~~~", "``` py",
]  # fmt: skip
ITEMS = ["- item", "- [ ] box", "-", "* star", "+ nest", "-     code", "1. one", "2. two", "1) one"]
# Texts stand anywhere. A block that is four columns in, or an item whose content is, sends
# markdown-it-py astray where CommonMark has a lazy line ("  1. one", then "    # Head").
NEAR = ["", "", " ", "> ", "- "]
LINES = st.one_of(
    st.builds(
        str.__add__, st.sampled_from([*NEAR, "    ", "      ", "\t", "1. "]), st.sampled_from(TEXTS)
    ),
    st.builds(str.__add__, st.sampled_from([*NEAR, "  ", "   ", "1. "]), st.sampled_from(BLOCKS)),
    st.builds(str.__add__, st.sampled_from(NEAR), st.sampled_from(ITEMS)),
)


def shown_by(children: list[Token]) -> list[bool]:
    """For each source line of one paragraph, whether anything of it is shown."""
    shown = [False]
    for child in children:
        if child.type in {"softbreak", "hardbreak"}:
            shown.append(False)
        elif child.content.startswith("<!--") and child.type == "html_inline":
            shown += [False] * child.content.count("\n")
        elif child.content.strip():
            shown[-1] = True
    return shown


def as_rendered(body: str) -> tuple[set[int], dict[int, int]]:
    """The numbers of the visible lines, and of the headings their levels, as markdown-it-py has them."""
    seen: set[int] = set()
    headings: dict[int, int] = {}
    quotes, heading = 0, None
    for token in MarkdownIt("commonmark").parse(body):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "heading_open":
            heading = token
        if (
            token.type == "html_block"
            and not quotes
            and token.map
            and token.content.lstrip().startswith("<!--")
        ):
            # To a browser, what stands behind the end of a comment is text.
            left = re.sub(
                "<!--.*?(?:-->|$)",
                lambda m: "\n" * m[0].count("\n"),
                token.content,
                flags=re.DOTALL,
            )
            seen |= {n for n, text in enumerate(left.split("\n"), token.map[0] + 1) if text.strip()}
        if token.type != "inline" or quotes or token.map is None:
            heading = heading if token.type == "heading_open" else None
            continue
        shown = shown_by(token.children or [])
        # A rule right under several lines of fields is meant as a rule; CommonMark makes them one heading.
        assume(heading is None or heading.markup[0] == "#" or len(shown) == 1)
        first = token.map[0] + 1
        seen |= {first + n for n, is_shown in enumerate(shown) if is_shown or heading}
        if heading:
            headings[first] = int(heading.tag[1])
    return seen, headings


@settings(max_examples=600, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=12))
def test_the_scan_agrees_with_a_full_parser(lines: list[str]) -> None:
    """Which lines are seen, and which are headings, as markdown-it-py has it."""
    body = "\n".join(lines)
    seen, headings = as_rendered(body)
    scanned = scan(body)
    assert {line.number for line in scanned if line.text or line.level} == seen
    assert {line.number: line.level for line in scanned if line.level} == headings


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from(" \t\n`~<!->#*+1.[]x=|\\"), max_size=80))
def test_no_text_breaks_the_scan(body: str) -> None:
    """Every line that comes out stood in the text, in order."""
    numbers = [line.number for line in scan(body)]
    assert numbers == sorted(numbers)
