"""The one exception that a person who runs the benchmarks is meant to read."""

from __future__ import annotations


class BenchmarkError(Exception):
    """Something the measurement needs is missing or failed; the text names cause and remedy."""
