"""The one line of JAAS that Kafka's clients take as `sasl.jaas.config`.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";

A module's class, a flag, options, a semicolon. Values may be quoted, with backslashes inside. Only
the login modules of PLAIN and SCRAM mean something to this client.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.errors import ConfigError

_LINE: Final = re.compile(r"\s*(?P<module>[\w.$]+)\s+(?P<flag>\w+)(?P<options>.*?);\s*", re.DOTALL)
_OPTION: Final = re.compile(
    r"""\s*(?P<name>[\w.]+)\s*=\s*
        (?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>[^\s"';]+))\s*""",
    re.DOTALL | re.VERBOSE,
)
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_MODULES: Final = ("PlainLoginModule", "ScramLoginModule")


def parse_jaas(line: str) -> tuple[str, dict[str, str]]:
    """The short name of the login module and its options."""
    match = _LINE.fullmatch(line)
    if match is None or match["flag"].lower() not in _FLAGS:
        # The line holds a password: it is not repeated.
        raise ConfigError(
            "sasl.jaas.config cannot be read: expected is "
            'CLASS required username="…" password="…"; with the semicolon at its end'
        )
    module = match["module"].rpartition(".")[2]
    if module not in _MODULES:
        raise ConfigError(
            f"sasl.jaas.config has the login module {match['module']}; allowed are "
            f"{' and '.join(_MODULES)} of org.apache.kafka.common.security"
        )
    return module, _options(match["options"])


def _options(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    position = 0
    while position < len(text.rstrip()):
        match = _OPTION.match(text, position)
        if match is None:
            raise ConfigError(
                'sasl.jaas.config cannot be read: options have the form name="value", '
                f"and what follows {len(options)} of them has not"
            )
        quoted = match["double"] if match["double"] is not None else match["single"]
        options[match["name"]] = (
            match["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        )
        position = match.end()
    return options
