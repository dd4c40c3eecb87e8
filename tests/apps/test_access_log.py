"""Lines of a web log and the records that are made of them."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from examples.ip_fraud.access_log import (
    COLUMNS,
    random_address,
    requests,
    template_lines,
    transform,
)

GOLDEN = (
    "212.1.2.3, -, -, 08/Mar/2004:07:54:30, -0800, "
    '"GET, /twiki/bin/edit/Main/Unknown_local_recipient_reject_code?'
    'topicparent=Main.ConfigurationVariables, HTTP/1.1", 401, 12846'
)


@pytest.mark.spec("book2:A1-05", "book2:A1-10", "book1:F-01", "book1:F-02")
def test_the_golden_record() -> None:
    """A line becomes ten columns with another client, commas for blanks and no brackets."""
    line = template_lines()[0]
    assert len(line.split(" ")) == COLUMNS
    record = transform(line, "212.1.2.3")
    assert record == GOLDEN
    columns = record.split(",")
    assert len(columns) == COLUMNS
    assert all(column.startswith(" ") for column in columns[1:])


@pytest.mark.spec("book2:A1-05")
def test_brackets_go_everywhere() -> None:
    """Brackets inside an address of a page are removed too, as those round the date are."""
    line = 'x - - [09/Mar/2004:10:04:02 -0800] "GET /search?q=[^A-Za-z] HTTP/1.1" 200 2873'
    assert "[" not in transform(line, "1.2.3.4")
    assert transform(line, "1.2.3.4").split(", ")[6] == "/search?q=^A-Za-z"


def test_every_line_of_the_template_has_ten_columns() -> None:
    """No line has a comma, which would shift the columns of its record."""
    for line in template_lines():
        assert len(line.split(" ")) == COLUMNS
        assert "," not in line


@pytest.mark.spec("book2:A1-05")
def test_octets_are_drawn_evenly() -> None:
    """Each octet takes every value from 0 to 255."""
    chance = random.Random(5)
    drawn = [random_address(chance).split(".") for _ in range(20_000)]
    for place in range(4):
        seen = {int(address[place]) for address in drawn}
        assert seen == set(range(256))


@pytest.mark.spec("book2:A1-09", "book1:N-18")
def test_few_lines_make_many_records() -> None:
    """One line is enough for any number of records that all differ."""
    lines = template_lines()[:1]
    texts = {request.text for request in islice(requests(lines, random.Random(1)), 50_000)}
    assert len(texts) > 49_990


def test_addresses_come_back() -> None:
    """With a share of returning visitors some addresses are seen again and again."""
    stream = requests(template_lines(), random.Random(1), returning=0.5)
    addresses = [request.address for request in islice(stream, 1_000)]
    assert 400 < len(set(addresses)) < 600
