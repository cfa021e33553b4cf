"""Draw the README's picture: commands that are really run, on a terminal, on the README's sample of a plan.

`make picture` writes docs/picture.svg. What differs from run to run (times, paths) is made the same,
so that the picture only changes when the commands say something else.
"""

from __future__ import annotations

import html
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PICTURE = Path(__file__).with_name("picture.svg")
COLUMNS = 80
README = Path(__file__).parent.with_name("README.md")
COMMANDS = ["holdfast simulate", "holdfast status"]

LINE, CHARACTER, MARGIN, SIZE = 18, 8.4, 16, 14
COLOURS = {31: "#f47067", 32: "#8ddb8c", 33: "#e3b341", 34: "#6cb6ff", 35: "#dcbdfb", 36: "#76e3ea"}
PLAIN, FAINT, BACKGROUND = "#d1d7e0", "#8b949e", "#1c2128"
ESCAPE = re.compile(r"\x1b\[([\d;]*)([A-Za-z])")


class Style(NamedTuple):
    colour: str = PLAIN
    bold: bool = False


class Piece(NamedTuple):
    text: str
    style: Style


def run(project: Path, home: Path) -> str:
    """What the commands print, colours and all."""
    bin_folder = Path(sys.executable).parent
    environment = {
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "CLAUDE_CODE_SESSION_ID": "picture",
        "TERM": "xterm-256color",
        "COLUMNS": str(COLUMNS),
        "LANG": "C.UTF-8",
    }
    printed = ""
    for command in COMMANDS:
        said = on_a_terminal(command.split(), project, environment)
        printed += f"\x1b[1m$ {command}\x1b[0m\n{said.rstrip()}\n\n"
    return printed.rstrip() + "\n"


def on_a_terminal(command: list[str], cwd: Path, environment: dict[str, str]) -> str:
    """What *command* prints where it sees a terminal."""
    outer, inner = pty.openpty()
    with subprocess.Popen(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner
    ) as process:
        os.close(inner)
        chunks = []
        while chunk := _read(outer):
            chunks.append(chunk)
    os.close(outer)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return b"".join(chunks).decode("utf-8").replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux says that nobody writes any more
        return b""


def steady(printed: str, project: Path) -> str:
    """Without what is different in every run."""
    printed = printed.replace(str(project.resolve()), "/home/me/site")
    printed = re.sub(r"\d{8}_\d{6}", "20260102_030405", printed)
    printed = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-01-02 03:04", printed)
    return re.sub(r"version [0-9a-f]{6,}", "version 5ac9be1b", printed)


def rows(printed: str) -> Iterator[list[Piece]]:
    """The rows of a terminal that shows *printed*: what is too long goes on in the next."""
    for line in printed.rstrip("\n").split("\n"):
        row: list[Piece] = []
        room = COLUMNS
        for text, style in pieces(line):
            rest = text
            while len(rest) > room:
                yield [*row, Piece(rest[:room], style)]
                rest, row, room = rest[room:], [], COLUMNS
            row.append(Piece(rest, style))
            room -= len(rest)
        yield row


def pieces(line: str) -> Iterator[Piece]:
    """*line* in pieces of one style each."""
    style, start = Style(), 0
    for found in ESCAPE.finditer(line):
        if line[start : found.start()]:
            yield Piece(line[start : found.start()], style)
        start = found.end()
        if found[2] == "m":
            for code in map(int, filter(None, found[1].split(";"))):
                style = _styled(style, code)
    if line[start:]:
        yield Piece(line[start:], style)


def _styled(style: Style, code: int) -> Style:
    if code == 0:
        return Style()
    if code == 1:
        return style._replace(bold=True)
    if code == 2:
        return style._replace(colour=FAINT)
    return style._replace(colour=COLOURS.get(code - 60 if code >= 90 else code, style.colour))


def drawn(printed: str) -> str:
    """The picture of a terminal that shows *printed*."""
    shown = list(rows(printed))
    width = int(COLUMNS * CHARACTER) + 2 * MARGIN
    height = len(shown) * LINE + 2 * MARGIN
    lines = [
        f'<text x="{MARGIN}" y="{MARGIN + SIZE + number * LINE}">{"".join(map(_span, row))}</text>'
        for number, row in enumerate(shown)
    ]
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img"'
                ' aria-label="A run of holdfast simulate and holdfast status">'
            ),
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            (
                '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"'
                f' font-size="{SIZE}" xml:space="preserve">'
            ),
            *lines,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _span(piece: Piece) -> str:
    weight = ' font-weight="bold"' if piece.style.bold else ""
    return f'<tspan fill="{piece.style.colour}"{weight}>{html.escape(piece.text)}</tspan>'


def picture() -> str:
    """The picture as it is now."""
    with tempfile.TemporaryDirectory(prefix="holdfast-picture-") as folder:
        project, home = Path(folder) / "site", Path(folder) / "home"
        project.mkdir()
        sample = (
            README.read_text(encoding="utf-8").partition("```markdown\n")[2].partition("```")[0]
        )
        (project / "PLAN.md").write_text(sample, encoding="utf-8")
        return drawn(steady(run(project, home), project))


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
