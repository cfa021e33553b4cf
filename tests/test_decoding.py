"""Files in the encodings that editors leave behind, whole and broken."""

from __future__ import annotations

import pytest

from holdfast.text.plaintext import decode


@pytest.mark.parametrize(
    "data",
    [
        "Wörkflow: ✓\nPhase".encode(),
        "Wörkflow: ✓\r\nPhase".encode("utf-8-sig"),
        "Wörkflow: ✓\rPhase".encode("utf-16"),
        b"\xfe\xff" + "Wörkflow: ✓\nPhase".encode("utf-16-be"),
        "Wörkflow: ✓\nPhase".encode("utf-16-le"),
        "Wörkflow: ✓\r\nPhase".encode("utf-16-be"),
        "Wörkflow: ✓\nPhase".encode() + "🔄".encode()[:3],
    ],
    ids=["utf-8", "bom crlf", "utf-16 cr", "utf-16-be bom", "bare le", "bare be", "cut"],
)
def test_every_usual_encoding_reads_the_same(data: bytes) -> None:
    """An editor's choice of encoding and line ends changes nothing."""
    assert decode(data) == "Wörkflow: ✓\nPhase"


def test_what_is_not_unicode_is_read_as_western() -> None:
    """Bytes that are no UTF-8 are cp1252, and Latin-1 where cp1252 has holes."""
    assert decode(b"caf\xe9 \x96 x") == "café – x"
    assert decode(b"caf\xe9 \x81") == "café \x81"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Status: 🔄 …".encode() + b" \xe9\nPhase", "Status: 🔄 … \ufffd\nPhase"),
        (b"\xff" + "🔄🔄\r\nPhase".encode(), "\ufffd🔄🔄\nPhase"),
        ("🔄✓".encode() + b"\xe9, " + "🔄".encode()[:3], "🔄✓\ufffd, "),
        ("\ufeffé – ".encode() + b"\x96", "é – \ufffd"),
        # What an earlier reader could not decode stands in the file as U+FFFD, properly encoded.
        ("\ufffd\ufffd\ufffd".encode() + b" \xe9 \xe8 x", "\ufffd\ufffd\ufffd \ufffd \ufffd x"),
        ("é".encode() + b" \xe9 x", "Ã© é x"),
        (b"na\xefve caf\xe9", "naïve café"),
    ],
)
def test_a_few_bad_bytes_cost_no_more_than_themselves(data: bytes, text: str) -> None:
    """It is UTF-8 as long as more of what is not ASCII is good than bad."""
    assert decode(data) == text


@pytest.mark.parametrize("data", [b"caf\xe9", b"Workflow: X\nna\xefve caf\xe9", b"\xe9"])
def test_a_final_western_letter_is_no_cut(data: bytes) -> None:
    """The last byte of a Latin-1 file could begin a UTF-8 character that a size limit has cut."""
    assert decode(data) == data.decode("latin-1")


def test_a_cut_character_is_left_out() -> None:
    """More than one byte of it, or other UTF-8 before it, shows what it was."""
    assert decode(b"caf" + "🔄".encode()[:2]) == "caf"
    assert decode("é caf".encode() + b"\xe9") == "é caf"
