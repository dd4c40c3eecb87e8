"""Every transform and predicate against Apache Kafka's own, on generated settings and records."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.generated import THOROUGH
from tests.pipelines.connect.transforms.agreement import BUILDERS, Tally, compare
from tests.pipelines.connect.transforms.configs import CONFIGS
from tests.pipelines.connect.transforms.generating import MOMENTS, SCALARS, records
from tests.pipelines.connect.transforms.oracle import Oracle

ROWS = 8
SETTINGS = 4
EXAMPLES = 3000 if THOROUGH else 8
PACKAGE = "org.apache.kafka.connect.transforms."


@pytest.mark.spec("slides:H09")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_a_transform_does_what_kafkas_does(name: str, oracle: Oracle) -> None:
    """Each example is eight records under four settings: a few hundred cases in `make test`, and
    more than 20,000 in `make thorough`, not counting those whose settings are rejected."""
    variants = [each for each in BUILDERS if each.partition("$")[0] == PACKAGE + name]
    kinds = MOMENTS if name == "TimestampConverter" else SCALARS
    tally = Tally()

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        for_sink = data.draw(st.booleans())
        rows = data.draw(records(ROWS, for_sink=for_sink, kinds=kinds))
        for _ in range(SETTINGS):
            chosen = data.draw(st.sampled_from(variants))
            config = data.draw(CONFIGS[name])
            compare(oracle, chosen, config, rows, for_sink=for_sink, tally=tally)

    run()
    assert tally.rows >= (20_000 if THOROUGH else 1), tally
