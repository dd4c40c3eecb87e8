"""The columnar form of every transform gives what its record form gives; no JVM is asked."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.named import TRANSFORMS
from tests.generated import THOROUGH, examples
from tests.pipelines.connect.transforms.agreement import Tally, check_columns
from tests.pipelines.connect.transforms.configs import CONFIGS
from tests.pipelines.connect.transforms.generating import MOMENTS, SCALARS, tidy_sides

ROWS = 4


@pytest.mark.parametrize("plugin", TRANSFORMS, ids=lambda plugin: plugin.simple_name)
def test_columns_give_what_records_give(plugin: object) -> None:
    """Structs as most are, so that most of them go in columns."""
    (chosen,) = [each for each in TRANSFORMS if each is plugin]
    name = chosen.simple_name.partition("$")[0]
    kinds = MOMENTS if name == "TimestampConverter" else SCALARS
    tally = Tally()

    @settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        key_schema, keys = data.draw(tidy_sides(ROWS, kinds))
        value_schema, values = data.draw(tidy_sides(ROWS, kinds))
        rows = [
            Record("t", value, value_schema, key, key_schema, 0, 1_000 * at, position=at)
            for at, (key, value) in enumerate(zip(keys, values, strict=True))
        ]
        try:
            built = chosen.build(data.draw(CONFIGS[name]))
        except ConfigException:
            return
        built.for_sink = True
        check_columns(built, rows, tally)

    run()
    assert tally.columnar_rows or not THOROUGH, "nothing went in columns"
