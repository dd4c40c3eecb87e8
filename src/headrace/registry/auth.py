"""`python -m headrace.registry.auth`: asks for a password, prints what the file of users keeps."""

from __future__ import annotations

import secrets
import sys
from getpass import getpass

from headrace.security import passwords


def hashed(password: str) -> str:
    """The form in which the file keeps a password."""
    return passwords.hashed(password, secrets.token_bytes(passwords.SALT_BYTES))


if __name__ == "__main__":
    sys.stdout.write(hashed(getpass()) + "\n")
