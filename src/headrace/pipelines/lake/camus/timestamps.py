"""When a message happened, by a field of it: `camus.message.timestamp.field` and `.format`."""

from __future__ import annotations

import datetime
from typing import Final

from headrace.errors import ConfigError
from headrace.java.date_format import DateFormat, InvalidDateFormat, UnreadableDate

DEFAULT_FIELD: Final = "timestamp"
DEFAULT_FORMAT: Final = "[dd/MMM/yyyy:HH:mm:ss Z]"
_PER_UNIT: Final = {"unix": 1000, "unix_seconds": 1000, "unix_milliseconds": 1}
_ISO: Final = "ISO-8601"
_CENTURY_START_MS: Final = -757_382_400_000
"""Two digits of a year are of 1946 to 2045, the same whenever a job runs."""


class TimestampFormat:
    """How a value of the field is read."""

    def __init__(self, text: str) -> None:
        self._per_unit = _PER_UNIT.get(text.lower())
        self._is_iso = text.upper() == _ISO
        self._pattern: DateFormat | None = None
        if self._per_unit is None and not self._is_iso:
            try:
                self._pattern = DateFormat(text, reads=True)
            except InvalidDateFormat as fault:
                raise ConfigError(
                    f"camus.message.timestamp.format={text}: {fault}; besides patterns of Java's "
                    f"SimpleDateFormat, {', '.join(_PER_UNIT)} and {_ISO} are known"
                ) from None

    def epoch_ms(self, value: object) -> int | None:
        """The moment; None if the value is missing or not in this format."""
        if value is None or isinstance(value, bool):
            return None
        try:
            if self._per_unit is not None:
                return int(float(str(value)) * self._per_unit)
            if self._pattern is not None:
                return self._pattern.epoch_ms(str(value), _CENTURY_START_MS)
            moment = datetime.datetime.fromisoformat(str(value))
        except (ValueError, OverflowError, UnreadableDate):
            return None
        whole = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
        return int(whole.timestamp() * 1000)


def field_of(record: object, path: list[str]) -> object:
    """A field of nested dicts; None if there is none."""
    found = record
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found
