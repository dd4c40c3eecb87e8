"""Numbers that clients may also write as strings, as JVM services take them: `"partition": "0"`.

Only for bodies that hold base64 as well. A decoder that is not strict would do, but it takes the
base64 text `null` for no value.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

DIGITS: Final = r"^[0-9]{1,9}$"
Digits = Annotated[str, msgspec.Meta(pattern=DIGITS)]
Whole = Annotated[int, msgspec.Meta(ge=0, le=0x7FFFFFFF)] | Digits


def number_of(value: int | str | None) -> int | None:
    """The number that was written, or None."""
    return int(value) if isinstance(value, str) else value
