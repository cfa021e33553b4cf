"""The formats that there are."""

from __future__ import annotations

from holdfast.formats.base import Format
from holdfast.formats.canonical.format import Canonical

FORMATS: tuple[Format, ...] = (Canonical(),)
