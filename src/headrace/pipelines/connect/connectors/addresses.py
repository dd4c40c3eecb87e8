"""Addresses as messages may show them."""

from __future__ import annotations

import re
from typing import Final

_USER: Final = re.compile(r"(?<=://)[^/?#]*@")


def without_user(url: str) -> str:
    """An address without a user and a password that it may hold: messages end up in logs."""
    return _USER.sub("", url)
