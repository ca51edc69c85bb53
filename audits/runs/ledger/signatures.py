"""Checksums of what a ledger holds, and signatures with a secret key.

A checksum is a SHA-256, which shows damage. In a signed ledger an HMAC-SHA-256 follows it, which nobody can
compute without the key. Both cover the plan; the plan and the notes; and the plan, the index and the content
of each block. A block that is deleted leaves no trace but that the run is unfinished; it is played again.
"""

from __future__ import annotations

import hmac
import os
import stat
from hashlib import sha256
from pathlib import Path

import attrs

from arena.errors import InvalidArgument

_BYTES = 32  # of a SHA-256, and of a signature
_MIN_KEY, _MAX_KEY = 16, 4096  # bytes; 128 bits cannot be guessed, and a longer file is hardly a key
_MAKE_KEY = "Make one: (umask 077; head -c 32 /dev/urandom > FILE)."


@attrs.frozen
class Seal:
    """Makes and checks the checksums of a ledger, with signatures if there is a key."""

    key: bytes | None = attrs.field(default=None, repr=False)

    def make_checksum(self, kind: str, content: bytes) -> bytes:
        """kind: what the content is, so that no signature serves for content of another kind."""
        plain = sha256(content).digest()
        return (
            plain
            if self.key is None
            else plain + hmac.digest(self.key, f"{kind} ".encode() + content, sha256)
        )

    def matches(self, path: Path, kind: str, content: bytes, checksum: object) -> bool:
        """Whether it is the checksum of the content. Raises: InvalidArgument if its signature is none."""
        if not isinstance(checksum, bytes) or len(checksum) not in (_BYTES, 2 * _BYTES):
            return False
        expected = self.make_checksum(kind, content)
        if not hmac.compare_digest(checksum[:_BYTES], expected[:_BYTES]):
            return False
        if self.key is None:
            return True
        if not is_signed(checksum):
            raise InvalidArgument(
                f"the ledger {path} is not signed (its {kind})",
                remedy="Leave out --key, or get the ledger that was written with it.",
            )
        if not hmac.compare_digest(checksum, expected):
            raise InvalidArgument(
                f"the ledger {path} was not signed with this key, or was altered since (its {kind})",
                remedy="Give the key with which it was written. If this is it, trust no figure of it.",
            )
        return True


UNSIGNED = Seal()


def is_signed(checksum: bytes) -> bool:
    """Whether a signature follows this checksum."""
    return len(checksum) == 2 * _BYTES


def check_signable(path: Path, signed: bool, key: bytes | None) -> None:
    """Raises: InvalidArgument if a ledger is signed and there is no key to sign what is added."""
    if signed and key is None:
        raise InvalidArgument(
            f"the ledger {path} is signed, so only blocks with signatures can be added",
            remedy="Give the key with which it was begun: --key FILE.",
        )


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The key in a file: all its bytes. Raises: InvalidArgument if it is none, or others could replace it."""
    try:
        status = os.stat(path)
        content = (
            Path(path).read_bytes() if stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_KEY else b""
        )
    except OSError as error:
        raise InvalidArgument(
            f"the key {path} cannot be read ({error.strerror})", remedy=_MAKE_KEY
        ) from error
    if len(content) < _MIN_KEY:
        raise InvalidArgument(
            f"a key must be a file of {_MIN_KEY} to {_MAX_KEY:,} bytes", value=str(path), remedy=_MAKE_KEY
        )
    if os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InvalidArgument(
            f"the key {path} can be written by other users, who could replace it",
            remedy=f"Run chmod 600 {path}.",
        )
    return content


def can_others_read(path: str | os.PathLike[str]) -> bool:
    """Whether other users can read a key, and so could sign with it."""
    return os.name == "posix" and bool(os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH))
