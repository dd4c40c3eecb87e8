"""`make conformance`: other projects' suites against our broker, compared with Apache Kafka.

    python -m tests.suites                       everything, about an hour
    python -m tests.suites --quick               ten minutes, for every change
    python -m tests.suites --only librdkafka     one family of suites, or one suite
    python -m tests.suites --broker kafka        against Apache Kafka itself
    python -m tests.suites --brokers 3           against three brokers, replication factor 3
    python -m tests.suites --bootstrap 127.0.0.1:9092 [--data-dir DIR]

A test that fails gets a second chance alone, as several measure time; both results are shown.
Exit code 0: every test that passes against Apache Kafka passes, but for exceptions.py.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from headrace.testing import Broker, Cluster
from tests.behaviour.processes import free_port
from tests.kafka.apache_kafka import ApacheKafka, classpath
from tests.kafka.toolchain import cache_dir
from tests.suites import kafka_python, librdkafka
from tests.suites.comparison import Comparison, calibration, compare, describe
from tests.suites.exceptions import EXCEPTIONS
from tests.suites.java import suite as java
from tests.suites.librdkafka import Choice, numbers_of
from tests.suites.running import Results, SuiteFailed, Target, say, write_results

# What Apache Kafka was calibrated with.
PROPERTIES = {
    "node.id": "0",
    "num.partitions": "4",
    # Not 0 as there: a broker that answers at once would give the first of two consumers a
    # generation of its own, and 0102 and 0113 count generations.
    "group.initial.rebalance.delay.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "8",
    "transaction.state.log.num.partitions": "8",
}
KAFKA_PROPERTIES = {
    "share.coordinator.state.topic.num.partitions": "8",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}

# What three brokers need beyond that; 0101 reads from the replica in the consumer's own rack.
CLUSTER_PROPERTIES = {
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}
RACKS = ("RACK0", "RACK1", "RACK2")


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite, its calibration, and how to run all of it, its quick part, or some tests."""

    name: str
    family: str
    calibrated: str
    run: Callable[[Target, Collection[str] | None, bool], Results]  # tests, and whether quick
    quick: Callable[[], Collection[str]] | None = None  # None: not part of a quick run
    properties: Mapping[str, str] = field(default_factory=dict)


def _librdkafka_suite(
    name: str,
    choice: Choice,
    *,
    calibrated: str = "1-broker",
    in_quick: bool = True,
    **rest: str,
) -> Suite:
    def run(target: Target, tests: Collection[str] | None, quick: bool) -> Results:
        numbers = choice.numbers if tests is None else numbers_of(tests)
        return librdkafka.run(target, replace(choice, numbers=numbers, quick=quick))

    def quick() -> Collection[str]:
        numbers = librdkafka.select(replace(choice, quick=True))
        return [test for names in numbers.values() for test in names]

    file = f"librdkafka-{name}-{calibrated}"
    selected = quick if in_quick else None
    return Suite(f"librdkafka-{name}", "librdkafka", file, run, selected, rest)


def _java_suite() -> Suite:
    return Suite(
        "java",
        "java",
        "java-1-broker",
        lambda target, tests, quick: java.run(target, tests=tests),
        lambda: java.QUICK,
    )


def suites(jobs: int, brokers: int = 1) -> list[Suite]:
    """Every suite, the quickest first; on several brokers those that ask for them."""
    classic = Choice(sockem=True, jobs=jobs)
    if brokers > 1:
        return [_java_suite(), _librdkafka_suite("classic", classic, calibrated="3-brokers")]
    consumer = Choice(protocol="consumer", jobs=jobs)
    noautocreate = Choice(scenario="noautocreate", jobs=jobs)
    queues = numbers_of(calibration("librdkafka-share-1-broker"))
    share = Choice(share=True, numbers=queues, jobs=jobs)
    off = {"auto.create.topics.enable": "false"}
    return [
        Suite(
            "kafka-python",
            "kafka-python",
            "kafka-python-1-broker",
            lambda target, tests, quick: kafka_python.run(target, tests=tests),
            lambda: calibration("kafka-python-1-broker"),
        ),
        _java_suite(),
        _librdkafka_suite("noautocreate", noautocreate, in_quick=False, **off),
        _librdkafka_suite("classic", classic),
        _librdkafka_suite("consumer", consumer),
        _librdkafka_suite("share", share, in_quick=False),
    ]


@contextlib.contextmanager
def broker(options: argparse.Namespace, properties: Mapping[str, str]) -> Iterator[Target]:
    """The broker under test: ours or Apache Kafka with a folder that is removed, or a given one."""
    if options.bootstrap:
        yield Target(options.bootstrap, options.data_dir)
        return
    settings = {**PROPERTIES, **properties}
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        folder = Path(name)
        if options.broker == "kafka":
            with ApacheKafka(classpath(), folder, {**settings, **KAFKA_PROPERTIES}) as kafka:
                yield Target(kafka.bootstrap_servers, kafka.log_dir)
        elif options.brokers > 1:
            with Cluster(options.brokers, _of_a_cluster(settings), racks=RACKS) as cluster:
                # Every broker has a replica of everything, so any folder serves the dump checks.
                yield Target(cluster.bootstrap_servers, cluster.brokers[0].log_dir)
        else:
            port = free_port()
            settings["advertised.listeners"] = f"PLAINTEXT://127.0.0.1:{port}"
            with Broker(settings, data=folder, port=port) as ours:
                yield Target(ours.bootstrap_servers, folder)


def _of_a_cluster(settings: Mapping[str, str]) -> dict[str, str]:
    """Every broker has an id of its own; a session as in production, not as in a quick test."""
    shared = {key: value for key, value in settings.items() if key != "node.id"}
    return {**shared, **CLUSTER_PROPERTIES, "zookeeper.session.timeout.ms": "18000"}


def run_suite(suite: Suite, options: argparse.Namespace) -> tuple[Results, Comparison]:
    """Run a suite, give what is lost a second chance, and compare."""
    selected = suite.quick() if options.quick and suite.quick is not None else None
    theirs = calibration(suite.calibrated)
    exceptions = EXCEPTIONS[suite.family] if options.broker == "headrace" else {}
    with broker(options, suite.properties) as target:
        say(f"{suite.name} against {target.bootstrap}")
        ours = suite.run(target, selected, options.quick)
        comparison = compare(theirs, ours, exceptions=exceptions, selected=selected)
        if comparison.lost and options.retry:
            say(f"{suite.name}: {len(comparison.lost)} lost tests once more, alone")
            again = suite.run(target, list(comparison.lost), options.quick)
            ours |= {test: result for test, result in again.items() if test in comparison.lost}
            comparison = compare(theirs, ours, exceptions=exceptions, selected=selected)
    size = "" if options.brokers == 1 else f"-{options.brokers}-brokers"
    write_results(options.results / f"{suite.name}{size}.json", ours)
    text = describe(suite.name, theirs, ours, comparison)
    sys.stdout.write(f"\n{text}\n\n")
    sys.stdout.flush()
    return ours, comparison


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Other projects' suites against our broker, compared with Apache Kafka 4.3.1."
    )
    parser.add_argument("--quick", action="store_true", help="a part of each suite")
    parser.add_argument("--only", action="append", metavar="NAME", help="a suite or a family")
    parser.add_argument("--broker", choices=("headrace", "kafka"), default="headrace")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1, help="how many")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="a broker that already runs")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="that broker's folder")
    parser.add_argument("--jobs", type=int, default=1, help="librdkafka tests at a time")
    parser.add_argument("--no-retry", dest="retry", action="store_false", help="one chance only")
    parser.add_argument("--results", type=Path, metavar="DIR", help="where results are written")
    options = parser.parse_args()
    if options.brokers > 1 and options.broker == "kafka" and not options.bootstrap:
        parser.error("start three brokers of Apache Kafka yourself and name them by --bootstrap")
    options.results = options.results or cache_dir() / "conformance"
    options.results.mkdir(parents=True, exist_ok=True)
    return options


def main() -> int:
    options = parse()
    chosen = [
        suite
        for suite in suites(options.jobs, options.brokers)
        if (not options.only or {suite.name, suite.family} & set(options.only))
        and (suite.quick is not None or not options.quick)
    ]
    if not chosen:
        names = sorted(
            {word for suite in suites(1, options.brokers) for word in (suite.name, suite.family)}
        )
        sys.stderr.write(f"error: no such suite: try one of {', '.join(names)}\n")
        return 2
    lost = 0
    for suite in chosen:
        try:
            _, comparison = run_suite(suite, options)
        except SuiteFailed as failure:
            sys.stderr.write(f"error: {suite.name}: {failure}\n")
            return 1
        lost += len(comparison.lost)
    verdict = "nothing is lost" if lost == 0 else f"{lost} tests pass against Apache Kafka only"
    sys.stdout.write(f"conformance: {verdict}; results in {options.results}\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
