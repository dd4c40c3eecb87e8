"""Problems A to F: the answers, tried out."""

from __future__ import annotations

from types import ModuleType

import pytest

from examples.labs.problems import (
    a_keys,
    b_partitions,
    c_files,
    d_groups,
    e_compaction,
    f_batches,
)
from headrace.testing import Broker

pytestmark = pytest.mark.spec("admin:LB-28")


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(a_keys, marks=pytest.mark.spec("admin:PR-09"), id="a"),
        pytest.param(b_partitions, marks=pytest.mark.spec("admin:RC-04"), id="b"),
        pytest.param(c_files, marks=pytest.mark.spec("admin:CR-09"), id="c"),
        pytest.param(d_groups, marks=pytest.mark.spec("admin:CO-28"), id="d"),
        pytest.param(e_compaction, marks=pytest.mark.spec("admin:CR-08"), id="e"),
        pytest.param(f_batches, marks=pytest.mark.spec("admin:PR-11"), id="f"),
    ],
)
def test_an_answer_is_right(broker: Broker, problem: ModuleType) -> None:
    """A broker does what the answer says."""
    problem.story(broker)
