"""The one decision that all forms of the application share."""

from __future__ import annotations

import pickle
import random
from itertools import islice

import pytest

from examples.ip_fraud.access_log import requests, template_lines, transform
from examples.ip_fraud.rules import (
    EXPECTED_SHARE,
    FRAUD_OCTETS,
    CacheIPLookup,
    FraudRow,
    first_octet,
    fraud_row,
    is_fraud,
)
from tests.apps.test_access_log import GOLDEN

# The layout of a record with addresses that are not listed.
HARMLESS = [
    '49.10.237.128, -, -, 07/Mar/2004:16:05:49, -0800, "GET, /a, HTTP/1.1", 401, 12846',
    '100.2.3.4, -, -, 07/Mar/2004:16:06:51, -0800, "GET, /b, HTTP/1.1", 200, 4523',
    '1.10.212.16, -, -, 07/Mar/2004:16:10:02, -0800, "GET, /c, HTTP/1.1", 200, 6291',
]


@pytest.mark.spec("book2:A1-12", "book2:A2-06", "book1:N-17")
def test_sixteen_octets_are_listed() -> None:
    """Seventeen are written down, one of them twice."""
    assert len(FRAUD_OCTETS) == 16
    listed = "212 163 15 224 126 92 91 10 112 194 198 11 12 13 14 15 16"
    assert frozenset(listed.split()) == FRAUD_OCTETS


@pytest.mark.spec("book2:A1-18", "book2:A2-06", "book2:A2-11")
def test_the_first_octet_decides() -> None:
    """Not the first two, which are in no list, and not the text before the first blank."""
    scanner = CacheIPLookup()
    assert is_fraud(GOLDEN, scanner)
    assert is_fraud("10.5.6.7, -, -", scanner)
    assert first_octet(GOLDEN) == "212"


@pytest.mark.spec("book2:A1-12", "book2:A1-13")
@pytest.mark.parametrize("record", HARMLESS)
def test_a_number_that_only_begins_like_a_listed_one(record: str) -> None:
    """100 is not 10, and only the first octet counts."""
    assert not is_fraud(record, CacheIPLookup())


@pytest.mark.parametrize("record", ["", "mill, -, -", "10", " , , ,"])
def test_a_record_without_an_octet_is_not_fraud(record: str) -> None:
    """A missing octet is looked up nowhere."""
    assert first_octet(record) is None
    assert not is_fraud(record, CacheIPLookup())


@pytest.mark.spec("book2:A1-11")
def test_any_lookup_will_do() -> None:
    """Whatever has `is_fraud_ip` can take the place of the list in memory."""

    class Database:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def is_fraud_ip(self, first_octet: str) -> bool:
            self.asked.append(first_octet)
            return first_octet == "49"

    database = Database()
    assert [is_fraud(record, database) for record in HARMLESS] == [True, False, False]
    assert database.asked == ["49", "100", "1"]


@pytest.mark.spec("book2:A1-12", "book1:K-20")
def test_the_lookup_can_be_pickled() -> None:
    """It travels to Spark's workers."""
    copy = pickle.loads(pickle.dumps(CacheIPLookup()))
    assert copy.is_fraud_ip("212")
    assert not copy.is_fraud_ip("213")


@pytest.mark.spec("book2:A1-13", "book1:N-17")
def test_one_record_in_sixteen_is_fraud() -> None:
    """Random addresses give a share of 16/256, within three standard deviations."""
    scanner = CacheIPLookup()
    records = 60_000
    stream = islice(requests(template_lines(), random.Random(11)), records)
    share = sum(is_fraud(request.text, scanner) for request in stream) / records
    sigma = (EXPECTED_SHARE * (1 - EXPECTED_SHARE) / records) ** 0.5
    assert EXPECTED_SHARE == 0.0625
    assert abs(share - EXPECTED_SHARE) < 3 * sigma


@pytest.mark.spec("book2:A1-19", "book2:A1-31")
def test_the_columns_of_the_table() -> None:
    """Columns 0, 3, 6, 7 and 8, without blanks and quotes."""
    url = (
        "/twiki/bin/edit/Main/Unknown_local_recipient_reject_code"
        "?topicparent=Main.ConfigurationVariables"
    )
    assert fraud_row(GOLDEN) == FraudRow(
        ip="212.1.2.3",
        date="08/Mar/2004:07:54:30",
        request_url=url,
        protocol_type="HTTP/1.1",
        status_code="401",
    )
    assert fraud_row("212.1.2.3, -, -") is None


def test_the_template_as_it_is() -> None:
    """Without random addresses: listed octets, a host name, and 100 beside 10."""
    records = [transform(line, line.split(" ")[0]) for line in template_lines()]
    fraud = [record.split(",")[0] for record in records if is_fraud(record, CacheIPLookup())]
    assert fraud == ["10.20.30.40", "198.51.100.23"]
