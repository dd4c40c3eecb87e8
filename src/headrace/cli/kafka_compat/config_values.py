"""The values that `kafka-configs --add-config` takes: `a=1,b=[1,2],SCRAM-SHA-256=[password=p]`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from headrace.admin.credentials import MECHANISMS, Password
from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.flags import Given
from headrace.cli.small_files import read_properties
from headrace.client.scram import MIN_ITERATIONS

# A comma or an equals sign that does not stand between brackets.
_OUTSIDE: Final = r"(?=[^\]]*(?:\[|$))"
_KEY: Final = re.compile(r"[$a-zA-Z0-9._-]*")
_PASSWORD: Final = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)


def added(given: Given) -> dict[str, str]:
    """What shall be set, from the command line or a properties file."""
    found: dict[str, str] = {}
    if path := given.text("--add-config-file"):
        found |= read_properties(path)
    for text in given.all("--add-config")[-1:]:
        for part in re.split("," + _OUTSIDE, text):
            pair = re.split(r"\s*=\s*" + _OUTSIDE, part)
            if len(pair) != 2:
                raise Told(
                    "Invalid entity config: all configs to be added must be in the format "
                    '"key=val" or  "key=[val1,val2]" to group values which contain commas.'
                )
            found[pair[0].strip()] = pair[1].replace("[", "").replace("]", "").strip()
    return _checked(found)


def deleted(given: Given) -> list[str]:
    """What shall return to its default."""
    names = [
        name.strip()
        for text in given.all("--delete-config")
        for name in text.split(",")
        if name.strip()
    ]
    _checked(dict.fromkeys(names, ""))
    return names


def _checked(values: dict[str, str]) -> dict[str, str]:
    for key in values:
        if not _KEY.fullmatch(key):
            raise Told(f"Invalid character found for config key: {key}")
    return values


def is_scram(key: str) -> bool:
    return key in MECHANISMS


def passwords(values: Mapping[str, str]) -> dict[str, Password]:
    """Those of SCRAM, by mechanism."""
    return {key: _password(key, value) for key, value in values.items() if is_scram(key)}


def _password(mechanism: str, text: str) -> Password:
    match = _PASSWORD.fullmatch(text)
    if match is None:
        raise Told(f"Invalid credential property {mechanism}={text}")
    # -1 asks for the default.
    count = match[1] if match[1] not in (None, "", "-1") else str(MIN_ITERATIONS)
    iterations = int(count)
    if iterations < MIN_ITERATIONS:
        raise Told(
            f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for "
            f"{mechanism}"
        )
    return Password(match[2], iterations)


def quota_of(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Told(f"Cannot parse quota configuration value for {key}: {text}") from None


def java_double(value: float) -> str:
    """A number as Java writes it: 1024.0, 1.0E7, 5.0E-4."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    # The shortest digits that read back as this number, as `repr` finds them.
    shortest = next(text for n in range(17) if float(text := f"{value:.{n}e}") == value)
    mantissa, _, exponent = shortest.partition("e")
    whole, _, part = mantissa.partition(".")
    return f"{whole}.{part or '0'}E{int(exponent)}"
