"""Checks what pipelines and clusters need besides the broker: Java, and Spark with its packages.

One broker needs neither, so what is missing is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from typing import Final

from headrace.cli.doctor.findings import Finding, ok, warn
from headrace.java.installation import KNOWN_PLACES, JavaMissing, find_java, version_of

_INSTALL: Final = 'pip install "headrace[spark]"; in a clone: make setup-spark'


def examine_java(
    environment: Mapping[str, str], places: Sequence[str] = KNOWN_PLACES
) -> Iterator[Finding]:
    """The Java that Spark and ZooKeeper would run on."""
    try:
        home = find_java(environment, places)
    except JavaMissing as missing:
        cause, _, remedy = str(missing).partition("; ")
        yield warn("Java", f"{cause}: pipelines and several brokers cannot run", remedy)
        return
    yield ok("Java", f"version {version_of(home)} in {home}")


def examine_spark(packages: Sequence[str] | None = None) -> Iterator[Finding]:
    """PySpark and what the extra `spark` installs with it."""
    wanted = spark_packages() if packages is None else packages
    missing = [each for each in wanted if find_spec(each) is None]
    if missing:
        names = ", ".join(missing)
        yield warn("Spark", f"not installed: {names}; pipelines cannot run", _INSTALL)
        return
    versions = ", ".join(f"{each} {metadata.version(each)}" for each in wanted)
    yield ok("Spark", versions)


def spark_packages() -> list[str]:
    """The packages of the extra `spark`, PySpark first, as this installation declares them."""
    try:
        declared = metadata.requires("headrace") or []
    except metadata.PackageNotFoundError:
        declared = []
    of_spark = {
        match[0]
        for each in declared
        if re.search(r"extra == .spark.", each) and (match := re.match(r"[\w.-]+", each))
    }
    return ["pyspark", *sorted(of_spark - {"pyspark"})]
