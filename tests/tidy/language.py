"""Idioms that a reader of Kafka's documentation would have to translate, and what to write instead.

`find_idioms` takes any text, so that the same list serves for messages in the code, for help texts
and for pages of documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Idiom(NamedTuple):
    """What not to write, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


class Found(NamedTuple):
    """One idiom in a text."""

    text: str
    instead: str

    def __str__(self) -> str:
        return f'"{self.text}": write {self.instead}'


_LIST: Final = {
    r"whoever|whomever|whosoever": '"the client", "the user", "any process that"',
    r"somebody|someone": '"another user", "another client"',
    r"nobody": '"no client", "no member", or the passive voice',
    r"(?:is|are|was|were|be|been) told": '"is reported", "is notified", "receives"',
    r"tells? (?!apart)(?:its|their|the|no|which|how|that|not)": '"reports", "shows"',
    r"of the past": '"deprecated"',
    r"of old": '"legacy"',
    r"the old name of": '"legacy name of"',
    r"anew": '"again", "from the beginning"',
    r"(?<!headrace )eyes?": '"monitoring"',
    r"shall": '"must", "will", or leave it out',
    r"refuses? to know": '"does not depend on"',
    r"(?<!there )(?<!where )is no (?!longer|such|active|current|need)[a-z]\w*": '"is not a …"',
    r"who must have": '"acknowledgements to wait for"',
    r"and exit\.(?<=^And exit\.)": '"Print the version and exit."',
    r"\d+ looks": '"… checks"',
    r"between two looks|looks? again": '"between two measurements", "again"',
    r"look how far": '"check the progress"',
    r"may stand anywhere": '"allowed anywhere on the command line"',
    r"so many (?:records?|replicas?|bytes|times)|after so many": '"this number of …"',
    r"for so long|so long ago|so often": '"for this long", "at this interval"',
    r"if nothing is said|is not said": '"by default", "is not given"',
    r"cannot be had|can be had|to be had": '"cannot be used", "is not available"',
    r"as fast as it goes": '"at full speed", "unlimited"',
    r"a fault of ours": '"a bug"',
    r"whom to wait for": '"acknowledgements to wait for"',
    r"goes on without you": '"continues"',
    r"on the move": '"being reassigned"',
    r"call(?:ed)? off": '"cancelled"',
    r"when a person types it": '"asks for confirmation on a terminal"',
    r"(?:are|is) (?:not )?well(?= *$|[,.;])": '"healthy", "under-replicated", "offline"',
    r"mends?|mended": '"corrects", "repairs", "recovers"',
    r"the documents|slides|labs? 6": "nothing: a reader has none of them",
}
IDIOMS: Final = tuple(
    Idiom(re.compile(rf"\b(?:{pattern})\b|(?:{pattern})(?<=\.)", re.IGNORECASE), instead)
    for pattern, instead in _LIST.items()
)


def find_idioms(text: str) -> Iterator[Found]:
    """Every idiom in a text, in the order of the list."""
    flat = " ".join(text.split())
    for idiom in IDIOMS:
        for match in idiom.pattern.finditer(flat):
            yield Found(match[0], idiom.instead)
