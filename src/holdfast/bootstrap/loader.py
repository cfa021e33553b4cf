"""Which file the system needs to start a program: its dynamic loader.

Every platform and every C library has its own, so where that of an interpreter lies, the machine is of
the kind that the interpreter, and what was installed for it, were made for.
"""

from __future__ import annotations

import os
import struct

_MAGIC = b"\x7fELF"
_INTERPRETER = 3  # the type of the entry that names the loader


def needed(program: str) -> str:
    """The loader of *program*; where it names none, as on macOS and Windows, *program* itself."""
    with open(program, "rb") as stream:
        head = stream.read(64)
        if len(head) < 64 or not head.startswith(_MAGIC):
            return program
        order, wide = "<" if head[5] == 1 else ">", head[4] == 2
        pointer = f"{order}{'Q' if wide else 'I'}"
        (table,) = struct.unpack_from(pointer, head, 32 if wide else 28)
        size, count = struct.unpack_from(f"{order}HH", head, 54 if wide else 42)
        stream.seek(table)
        entries = stream.read(size * count)
        for at in range(0, len(entries), size):
            if struct.unpack_from(f"{order}I", entries, at) == (_INTERPRETER,):
                (start,) = struct.unpack_from(pointer, entries, at + (8 if wide else 4))
                (length,) = struct.unpack_from(pointer, entries, at + (32 if wide else 16))
                stream.seek(start)
                return os.fsdecode(stream.read(length).rstrip(b"\0"))
    return program
