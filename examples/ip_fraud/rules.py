"""Which record is fraud: the decision that all forms of the application share.

The first octet of the address is looked up, as text and exactly, so `100.2.3.4` has nothing to do
with a listed `10`. Whoever keeps the list in a database writes another class with `is_fraud_ip`;
the list in memory travels to Spark's workers as it is. Nothing here knows topics or engines.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from examples.ip_fraud.access_log import COLUMNS

_LISTED: Final = (212, 163, 15, 224, 126, 92, 91, 10, 112, 194, 198, 11, 12, 13, 14, 15, 16)
FRAUD_OCTETS: Final = frozenset(str(octet) for octet in _LISTED)  # 15 is listed twice: 16 octets
EXPECTED_SHARE: Final = len(FRAUD_OCTETS) / 256


class IPScanner(Protocol):
    """A lookup of listed addresses: in memory, in HBase, in any store that answers in time."""

    def is_fraud_ip(self, first_octet: str) -> bool: ...


class CacheIPLookup:
    """The list in memory. It can be pickled, as everything must that a worker calls."""

    def __init__(self, octets: frozenset[str] = FRAUD_OCTETS) -> None:
        self._octets = octets

    def is_fraud_ip(self, first_octet: str) -> bool:
        return first_octet in self._octets


class FraudRow(NamedTuple):
    """A row of the table `fraud_ip`."""

    ip: str
    date: str
    request_url: str
    protocol_type: str
    status_code: str


def address_of(record: str) -> str:
    """The first column: an address or, in real logs, a host name."""
    return record.partition(",")[0]


def first_octet(record: str) -> str | None:
    """What stands before the first dot of the address; None if there is no dot."""
    octet, dot, _ = address_of(record).partition(".")
    return octet if dot else None


def is_fraud(record: str, scanner: IPScanner) -> bool:
    octet = first_octet(record)
    return octet is not None and scanner.is_fraud_ip(octet)


def columns(record: str) -> list[str]:
    """The ten columns of a record, without the blank that follows each comma."""
    return [column.strip(" ") for column in record.split(",")]


def fraud_row(record: str) -> FraudRow | None:
    """The columns that the table keeps, without the quotes round the request; None if cut short."""
    found = columns(record)
    if len(found) < COLUMNS:
        return None
    return FraudRow(found[0], found[3], found[6], found[7].strip('"'), found[8])
