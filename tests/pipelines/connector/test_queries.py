"""Any queries, one after the other, over one view of a topic: the rows of Spark's own connector."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import pytest

from tests.generated import examples
from tests.pipelines.connector.comparison import OURS, SPARKS
from tests.pipelines.source.topics import TIMEOUT_S, Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.testing import Broker

pytestmark = pytest.mark.timeout(600)

SEEDS: Final = range(examples(1))
QUERIES: Final = 6
PARTITIONS: Final = 3
FIRST_MS: Final = 1_700_000_000_000
COMPARISONS: Final = ("=", "<=>", "<>", "<", "<=", ">", ">=")


class Author:
    """Writes queries over a relation that is called {t}, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def query(self, depth: int = 2) -> str:
        """Columns p and o, of any shape."""
        plain = f"SELECT partition p, offset o FROM {{t}} r WHERE {self.condition()}"
        if depth == 0:
            return plain
        one, two = self.query(depth - 1), self.query(depth - 1)
        return self._chance.choice(
            (
                plain,
                f"({one}) UNION ALL ({two})",
                f"SELECT a.p, b.o FROM ({one}) a JOIN ({two}) b ON a.o = b.o",
                f"SELECT a.p, b.o FROM ({one}) a LEFT JOIN ({two}) b ON a.o = b.o AND a.p < b.p",
                f"SELECT p, count(*) o FROM ({one}) WHERE p < 2 GROUP BY p",
                f"SELECT p, o FROM ({one}) WHERE o >= (SELECT avg(o) FROM ({two}))",
                f"SELECT p, o FROM ({one}) WHERE o IN (SELECT o FROM ({two}))",
                f"SELECT DISTINCT p, o FROM ({one}) WHERE {self._atom('p', 'o')}",
                f"WITH c AS ({one}) SELECT x.p, y.o FROM c x JOIN c y ON x.o = y.o AND y.p = 1",
                f"SELECT p, o FROM ({one}) ORDER BY p DESC, o LIMIT 7",
            )
        )

    def condition(self) -> str:
        parts = [self._atom("r.partition", "r.offset") for _ in range(self._chance.randint(1, 3))]
        joined = self._chance.choice((" AND ", " AND ", " OR ")).join(parts)
        return self._chance.choice((joined, joined, joined, f"NOT ({joined})"))

    def _atom(self, partition: str, offset: str) -> str:
        chance = self._chance
        number, other = chance.randint(-1, 4), chance.randint(0, 40)
        comparison = chance.choice(COMPARISONS)
        atoms = [
            f"{partition} {comparison} {number}",
            f"{number} {comparison} {partition}",
            f"{partition} IN ({number}, 1, 1)",
            f"{offset} {comparison} {other}",
            f"{offset} BETWEEN {other} AND {other + number}",
            f"{offset} IN ({other}, {number}, {other + 2})",
            f"{offset} % 3 = {partition}",
            f"{offset} = CAST(NULL AS BIGINT)",
        ]
        if partition == "r.partition":
            micros = (FIRST_MS + chance.randint(-5, 45)) * 1_000 + chance.choice((0, 500))
            atoms += [
                f"timestamp {comparison} timestamp_micros({micros})",
                f"timestamp {chance.choice(('>', '>='))} timestamp_micros({micros})",
                f"topic {comparison} 'questions'",
                "key IS NOT NULL",
                "length(value) > 1",
            ]
        return chance.choice(atoms)


@pytest.mark.seeds
@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_same_rows_whatever_was_asked_before(
    spark: SparkSession, headrace_broker: Broker, seed: int
) -> None:
    """Records come between the queries, and their timestamps go up and down."""
    author, chance = Author(seed), random.Random(seed)
    topics = Topics(headrace_broker.bootstrap_servers)
    topic, producer = topics.create(PARTITIONS), topics.producer()
    for format_ in (OURS, SPARKS):
        spark.sql(
            f"CREATE OR REPLACE TEMPORARY VIEW questions_{format_} USING {format_} OPTIONS "
            f"('kafka.bootstrap.servers' '{topics.bootstrap_servers}', 'subscribe' '{topic}')"
        )
    for _ in range(QUERIES):
        for number in range(chance.randint(0, 12)):
            producer.produce(
                topic,
                b"%d" % number,
                key=chance.choice((None, b"k")),
                partition=chance.randrange(PARTITIONS),
                timestamp=FIRST_MS + chance.randint(0, 40),
            )
        assert producer.flush(TIMEOUT_S) == 0
        query = author.query()
        ours, sparks = (
            sorted(map(tuple, spark.sql(query.format(t=f"questions_{each}")).collect()), key=str)
            for each in (OURS, SPARKS)
        )
        assert ours == sparks, query
