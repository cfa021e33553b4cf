"""SHA-256 without OpenSSL, which takes longer to load than most hooks to run."""

from __future__ import annotations

try:  # as `random` in the standard library does
    from _sha2 import sha256  # type: ignore[import-not-found]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found]  # before Python 3.12
    except ImportError:
        from hashlib import sha256


def digest(data: bytes) -> str:
    """The SHA-256 of *data*, in hexadecimal digits."""
    return str(sha256(data).hexdigest())
