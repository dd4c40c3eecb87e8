"""The same talk with a worker of ours and with Apache Kafka's: the same answers.

The real answers are recorded (`python -m tests.pipelines.connect.recorded.rest`). What differs on
purpose stands in `OTHERWISE`.
"""

from __future__ import annotations

import json

import pytest

from tests.pipelines.connect.api.masks import masked
from tests.pipelines.connect.recorded.rest import RECORDED, real_talk
from tests.pipelines.connect.recorded.talk import Answers, talk

OTHERWISE = {
    # Java answers 500 to what is the client's fault, some of it with the failure of a class.
    "create: no JSON": (400, "Invalid JSON"),
    "create: a list": (400, "Cannot read the body: Expected `object`, got `array`"),
    "create: nothing": (400, "The request has no body"),
    "create: an unknown field": (400, "unknown field `more`"),
    "create: no config": (400, "The request has no config"),
    "create: nested": (400, "got `object` - at `$.config[...]`"),
    "create: an unknown state": (400, "a connector begins as RUNNING, PAUSED, STOPPED"),
    "configure: no JSON": (400, "Invalid JSON"),
    "offsets: no JSON": (400, "Invalid JSON"),
    "validate: no class": (400, "Connector config {name=s} contains no connector type"),
    "validate: unknown": (400, "Failed to find any class that implements Connector"),
    # Ours says what is accepted.
    "create: a text": (415, "'text/plain' is not accepted; application/json is"),
    "create: a form": (415, "urlencoded' is not accepted; application/json is"),
    # Its standalone worker forgets to look whether there is such a connector.
    "missing: PUT /stop": (404, "Unknown connector none"),
    "missing: POST /restart": (404, "Unknown connector: none"),
    "missing: POST /tasks/0/restart": (404, "Unknown connector: none"),
    # Ours says why.
    "create c, broken": (500, "Failed to transition connector c to state STARTED: a broken file"),
    "c: restart": (500, "Failed to transition connector c to state STARTED: a broken file"),
    # Jetty takes no encoded slash, so such a connector can be created and never deleted.
    "delete a b/c": (204, ""),
}
"""Our code and a part of our message, where they are not Java's."""

OTHER_NAMES = {
    "plugins": "ours has more connectors",
    "plugins: all": "ours has more classes",
    "loggers": "Python's loggers have other names",
    "logger: worker": "as above",
    "plugin: converter": "the settings of ours are those that it reads",
}
"""Of these the codes are compared, and what `test_plugins` and `test_loggers` say."""


@pytest.fixture(scope="module")
def ours(url: str) -> Answers:
    return talk(url)


def real() -> Answers:
    found: Answers = json.loads(RECORDED.read_text())["standalone"]
    return found


@pytest.mark.spec("slides:H02", "slides:H03", "slides:H05", "admin:CN-03", "admin:CN-08")
@pytest.mark.parametrize("label", real())
def test_the_answer_is_the_same(ours: Answers, label: str) -> None:
    found, wanted = ours[label], real()[label]
    if label in OTHERWISE:
        code, part = OTHERWISE[label]
        assert found["code"] == code
        assert part in json.dumps(found["answer"])
        return
    assert found["code"] == wanted["code"], found["answer"]
    if label not in OTHER_NAMES:
        assert masked(found["answer"]) == masked(wanted["answer"])


def test_every_deviation_is_still_one(ours: Answers) -> None:
    """What stands in the tables differs from what Java says."""
    for label in (*OTHERWISE, *OTHER_NAMES):
        told, wanted = ours[label], real()[label]
        same = told["code"] == wanted["code"] and told["answer"] == wanted["answer"]
        assert not same, label


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_the_recording_is_what_kafka_answers() -> None:
    held = real_talk("standalone")
    assert held.keys() == real().keys()
    for label, told in held.items():
        if label != "loggers":
            found = (told["code"], masked(told["answer"]))
            assert found == (real()[label]["code"], masked(real()[label]["answer"])), label
