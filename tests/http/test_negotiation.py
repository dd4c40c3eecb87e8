"""From an Accept header to one of the offers."""

from __future__ import annotations

import tracemalloc

import pytest

from headrace.http.negotiation import negotiated

OFFERS = ("application/vnd.x.v2+json", "application/json", "text/plain")


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", OFFERS[0]),
        ("*/*", OFFERS[0]),
        ("*", OFFERS[0]),
        ("*/anything", OFFERS[0]),
        ("text/html, */xml;q=0.1", OFFERS[0]),
        ("application/*", OFFERS[0]),
        ("application/json", OFFERS[1]),
        ("application/json, */*", OFFERS[1]),
        ("Application/JSON; charset=utf-8", OFFERS[1]),
        ("text/*, application/json;q=0.9", OFFERS[2]),
        ("*/*, application/vnd.x.v2+json;q=0", OFFERS[1]),
        ("text/html", None),
        ("*/*;q=0", None),
        ("application/json;q=nan", None),
        ("nonsense", None),
    ],
)
def test_the_best_offer(accept: str, chosen: str | None) -> None:
    """By weight, then by how specific the range is, then by the order of the offers."""
    assert negotiated(accept, OFFERS) == chosen


def test_long_headers_are_not_kept() -> None:
    """They are read like any other; only headers of a usual length are worth remembering."""
    tracemalloc.start()
    try:
        for number in range(500):
            accept = f"x/{number}, text/plain" + " " * 10_000
            assert negotiated(accept, OFFERS) == "text/plain"
        assert tracemalloc.get_traced_memory()[0] < 1 << 20
    finally:
        tracemalloc.stop()
