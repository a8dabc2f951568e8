"""Files that know whether they are whole: their last bytes are a checksum of all before them."""

import hashlib
import io
from importlib.resources.abc import Traversable
from zipfile import ZipFile

SEAL = hashlib.sha256().digest_size
"""Bytes of the checksum."""


def sealed(content: bytes) -> bytes:
    """Return the content of a file with its last SEAL bytes overwritten by the checksum."""
    body = content[:-SEAL]
    return body + hashlib.sha256(body).digest()


def sealed_archive(archive: io.BytesIO) -> bytes:
    """Return a zip archive sealed in its comment, so that it stays a zip archive."""
    with ZipFile(archive, "a") as file:
        file.comment = bytes(SEAL)
    return sealed(archive.getvalue())


def unsealed(path: Traversable) -> bytes:
    """Read a file that was `sealed`.

    Raises:
        ValueError: it cannot be read, or is damaged.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    if content != sealed(content):
        raise ValueError(
            f"{path}: damaged, or written by an older nap_env: take a whole copy, or train again"
        )
    return content
