"""What a worker is asked over REST, from its first connector to its last: one call a label.

The same talk is held with a worker of Apache Kafka, whose answers are kept, and with ours.
"""

from __future__ import annotations

from typing import Final

from tests.pipelines.connect.recorded.asking import answer, settled, until
from tests.pipelines.connect.recorded.cases import SINK, SOURCE

Answers = dict[str, dict[str, object]]

TWO: Final = {**SOURCE, "tasks.max": "2"}
_TRANSFORM = "org.apache.kafka.connect.transforms.HoistField$Value"
_MOVED: Final = {"offsets": [{"partition": {"number": 0}, "offset": {"position": 3}}]}


class Talk:
    """The answers of one worker."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: Answers = {}

    def ask(
        self,
        label: str,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
    ) -> None:
        assert label not in self.answers, label
        self.answers[label] = answer(self.url, method, path, body, content_type)

    def settled(self, name: str, wanted: str) -> None:
        settled(self.url, name, wanted)


def talk(url: str) -> Answers:
    """Everything, in order."""
    held = Talk(url)
    for part in (worker, missing, malformed, creation, states, offsets, topics, failures):
        part(held)
    for part in (plugins, loggers, internal, endings):
        part(held)
    return held.answers


def worker(held: Talk) -> None:
    held.ask("root", "GET", "/")
    held.ask("health", "GET", "/health")
    held.ask("no such path", "GET", "/nowhere")
    held.ask("no such method", "DELETE", "/connectors")
    held.ask("no connectors", "GET", "/connectors")
    held.ask("no connectors, expanded", "GET", "/connectors?expand=status")


def missing(held: Talk) -> None:
    """A connector that nobody has."""
    for method, path in (
        ("GET", ""),
        ("GET", "/config"),
        ("GET", "/status"),
        ("GET", "/tasks"),
        ("GET", "/tasks/0/status"),
        ("GET", "/topics"),
        ("GET", "/offsets"),
        ("PUT", "/pause"),
        ("PUT", "/resume"),
        ("PUT", "/stop"),
        ("PUT", "/topics/reset"),
        ("POST", "/restart"),
        ("POST", "/restart?includeTasks=true"),
        ("POST", "/tasks/0/restart"),
        ("DELETE", "/offsets"),
        ("DELETE", ""),
    ):
        held.ask(f"missing: {method} {path}", method, f"/connectors/none{path}")
    held.ask("missing: PATCH /config", "PATCH", "/connectors/none/config", {"a": "b"})
    held.ask("missing: PATCH /offsets", "PATCH", "/connectors/none/offsets", _MOVED)


def malformed(held: Talk) -> None:
    """Requests that cannot be right."""
    held.ask("create: no JSON", "POST", "/connectors", "{")
    held.ask("create: a list", "POST", "/connectors", [])
    held.ask("create: nothing", "POST", "/connectors", "")
    held.ask("create: a text", "POST", "/connectors", "name=x", "text/plain")
    held.ask("create: a form", "POST", "/connectors", "name=x", "application/x-www-form-urlencoded")
    more = {"name": "x", "config": TWO, "more": 1}
    held.ask("create: an unknown field", "POST", "/connectors", more)
    held.ask("create: no config", "POST", "/connectors", {"name": "x"})
    held.ask("create: no name", "POST", "/connectors", {"config": {"connector.class": "Recorded"}})
    held.ask("create: nested", "POST", "/connectors", {"name": "x", "config": {"a": {"b": "c"}}})
    held.ask("create: another name", "POST", "/connectors", {"name": "other", "config": SOURCE})
    bad = {**TWO, "name": "bad", "topic": "", "batch.size": "0"}
    held.ask("create: bad settings", "POST", "/connectors", {"name": "bad", "config": bad})
    held.ask("create: no class", "POST", "/connectors", {"name": "n", "config": {"topic": "x"}})
    unknown = {"name": "nope", "config": {"connector.class": "no.Such"}}
    held.ask("create: an unknown class", "POST", "/connectors", unknown)
    sleeping = {"name": "s", "config": TWO, "initial_state": "SLEEPING"}
    held.ask("create: an unknown state", "POST", "/connectors", sleeping)
    held.ask("configure: no JSON", "PUT", "/connectors/x/config", "nonsense")
    held.ask("configure: another name", "PUT", "/connectors/x/config", SOURCE)
    held.ask("configure: bad settings", "PUT", "/connectors/bad/config", bad)
    held.ask("offsets: no JSON", "PATCH", "/connectors/x/offsets", "nonsense")


def creation(held: Talk) -> None:
    held.ask("create s", "POST", "/connectors", {"name": " s ", "config": {**TWO, "tasks.max": 2}})
    held.settled("s", "RUNNING,RUNNING")
    held.ask("create s again", "POST", "/connectors", {"name": "s", "config": TWO})
    held.ask("s", "GET", "/connectors/s")
    held.ask("s with a slash", "GET", "/connectors/s/")
    held.ask("s: config", "GET", "/connectors/s/config")
    held.ask("s: status", "GET", "/connectors/s/status")
    held.ask("s: tasks", "GET", "/connectors/s/tasks")
    held.ask("s: task 1", "GET", "/connectors/s/tasks/1/status")
    held.ask("s: task 9", "GET", "/connectors/s/tasks/9/status")
    held.ask("s: task x", "GET", "/connectors/s/tasks/x/status")
    held.ask("create k, stopped", "POST", "/connectors", _created(SINK, "STOPPED"))
    held.settled("k", "STOPPED")
    held.ask("k: status", "GET", "/connectors/k/status")
    paused = {**SOURCE, "name": "p", "topic": "of-p"}
    held.ask("create p, paused", "POST", "/connectors", _created(paused, "PAUSED"))
    held.settled("p", "PAUSED")
    held.ask("p: status", "GET", "/connectors/p/status")
    held.ask("p: topics", "GET", "/connectors/p/topics")
    spaced = {"name": "a b/c", "config": {**SINK, "name": "a b/c"}, "initial_state": "STOPPED"}
    held.ask("create a b/c", "POST", "/connectors", spaced)
    held.ask("list", "GET", "/connectors")
    held.ask("list: status", "GET", "/connectors?expand=status")
    held.ask("list: both", "GET", "/connectors?expand=info&expand=status")
    held.ask("list: unknown", "GET", "/connectors?expand=more")
    held.ask("configure k", "PUT", "/connectors/k/config", {**SINK, "tasks.max": "1"})
    held.ask("configure n, new", "PUT", "/connectors/n/config", {**SINK, "name": "n"})
    held.settled("n", "RUNNING,RUNNING")
    held.ask("patch s", "PATCH", "/connectors/s/config", {"batch.size": "5", "tasks.max": 2})
    held.settled("s", "RUNNING,RUNNING")
    held.ask("patch s back", "PATCH", "/connectors/s/config", {"batch.size": None})
    held.settled("s", "RUNNING,RUNNING")
    held.ask("patch s badly", "PATCH", "/connectors/s/config", {"batch.size": "0"})
    held.ask("s: config after that", "GET", "/connectors/s/config")


def _created(config: dict[str, str], state: str) -> dict[str, object]:
    return {"name": config["name"], "config": config, "initial_state": state}


def states(held: Talk) -> None:
    held.ask("pause s", "PUT", "/connectors/s/pause")
    held.settled("s", "PAUSED,PAUSED")
    held.ask("s: status, paused", "GET", "/connectors/s/status")
    held.ask("pause s again", "PUT", "/connectors/s/pause")
    held.ask("restart s, paused", "POST", "/connectors/s/restart?includeTasks=true&onlyFailed=true")
    held.ask("resume s", "PUT", "/connectors/s/resume")
    held.settled("s", "RUNNING,RUNNING")
    held.ask("restart s", "POST", "/connectors/s/restart")
    held.settled("s", "RUNNING,RUNNING")
    held.ask("restart s, false", "POST", "/connectors/s/restart?includeTasks=false&onlyFailed=no")
    held.settled("s", "RUNNING,RUNNING")
    held.ask("restart s with tasks", "POST", "/connectors/s/restart?includeTasks=true")
    held.settled("s", "RUNNING,RUNNING")
    held.ask("restart task 0", "POST", "/connectors/s/tasks/0/restart")
    held.settled("s", "RUNNING,RUNNING")
    held.ask("offsets of a running one", "PATCH", "/connectors/s/offsets", _MOVED)
    held.ask("no offsets of a running one", "DELETE", "/connectors/s/offsets")
    held.ask("stop s", "PUT", "/connectors/s/stop")
    held.settled("s", "STOPPED")
    held.ask("s: status, stopped", "GET", "/connectors/s/status")
    held.ask("s: tasks, stopped", "GET", "/connectors/s/tasks")
    held.ask("s, stopped", "GET", "/connectors/s")


def offsets(held: Talk) -> None:
    held.ask("offsets: none", "PATCH", "/connectors/s/offsets", {"offsets": []})
    held.ask("offsets: nothing", "PATCH", "/connectors/s/offsets", {})
    held.ask("offsets: altered", "PATCH", "/connectors/s/offsets", _MOVED)
    held.ask("offsets of s", "GET", "/connectors/s/offsets")
    held.ask("offsets: reset", "DELETE", "/connectors/s/offsets")
    held.ask("offsets of s, reset", "GET", "/connectors/s/offsets")
    held.ask("sink: wrong keys", "PATCH", "/connectors/k/offsets", _MOVED)
    held.ask("sink: a text", "PATCH", "/connectors/k/offsets", _place("lines", "zero", 1))
    held.ask("sink: offset as text", "PATCH", "/connectors/k/offsets", _place("lines", 0, "x"))
    held.ask("sink: altered", "PATCH", "/connectors/k/offsets", _place("lines", 0, 1))
    held.ask("sink: offsets", "GET", "/connectors/k/offsets")
    none = {"offsets": [{**_partition("lines", 0), "offset": None}]}
    held.ask("sink: one taken away", "PATCH", "/connectors/k/offsets", none)
    held.ask("sink: offsets then", "GET", "/connectors/k/offsets")
    held.ask("sink: altered again", "PATCH", "/connectors/k/offsets", _place("lines", "0", "2"))
    held.ask("sink: reset", "DELETE", "/connectors/k/offsets")
    held.ask("sink: offsets at last", "GET", "/connectors/k/offsets")
    held.ask("resume s, stopped", "PUT", "/connectors/s/resume")
    held.settled("s", "RUNNING,RUNNING")


def _partition(topic: str, partition: object) -> dict[str, object]:
    return {"partition": {"kafka_topic": topic, "kafka_partition": partition}}


def _place(topic: str, partition: object, offset: object) -> dict[str, object]:
    return {"offsets": [{**_partition(topic, partition), "offset": {"kafka_offset": offset}}]}


def topics(held: Talk) -> None:
    def used() -> bool:
        told = answer(held.url, "GET", "/connectors/s/topics")["answer"]
        return told == {"s": {"topics": ["lines"]}}

    until("topics of s", used)
    held.ask("s: topics", "GET", "/connectors/s/topics")
    held.ask("s: forget topics", "PUT", "/connectors/s/topics/reset")
    held.ask("s: no topics", "GET", "/connectors/s/topics")


def failures(held: Talk) -> None:
    failing = {**SOURCE, "name": "f", "file": "fail"}
    held.ask("configure f", "PUT", "/connectors/f/config", failing)
    held.settled("f", "RUNNING,FAILED")
    held.ask("f: status", "GET", "/connectors/f/status")
    held.ask("f: task 0", "GET", "/connectors/f/tasks/0/status")
    held.ask("restart f", "POST", "/connectors/f/restart?includeTasks=true&onlyFailed=true")
    held.settled("f", "RUNNING,FAILED")
    broken = {**SOURCE, "name": "c", "file": "broken"}
    held.ask("create c, broken", "POST", "/connectors", {"name": "c", "config": broken})
    held.settled("c", "FAILED")
    held.ask("c: status", "GET", "/connectors/c/status")
    held.ask("c", "GET", "/connectors/c")
    held.ask("c: restart", "POST", "/connectors/c/restart")
    held.ask("c: repaired", "PUT", "/connectors/c/config", {**SOURCE, "name": "c"})
    held.settled("c", "RUNNING,RUNNING")


def plugins(held: Talk) -> None:
    held.ask("plugins", "GET", "/connector-plugins")
    held.ask("plugins: all", "GET", "/connector-plugins?connectorsOnly=false")
    held.ask("plugin: source", "GET", "/connector-plugins/RecordedSource/config")
    held.ask("plugin: sink", "GET", "/connector-plugins/RecordedSink/config")
    held.ask("plugin: transform", "GET", f"/connector-plugins/{_TRANSFORM}/config")
    held.ask("plugin: predicate", "GET", "/connector-plugins/TopicNameMatches/config")
    held.ask("plugin: converter", "GET", "/connector-plugins/JsonConverter/config")
    held.ask("plugin: unknown", "GET", "/connector-plugins/NoSuch/config")
    valid = "/connector-plugins/RecordedSource/config/validate"
    held.ask("validate: good", "PUT", valid, SOURCE)
    held.ask("validate: bad", "PUT", valid, {**SOURCE, "topic": "", "tasks.max": 0})
    held.ask("validate: another class", "PUT", valid, SINK)
    held.ask("validate: no class", "PUT", valid, {"name": "s"})
    unknown = "/connector-plugins/NoSuch/config/validate"
    held.ask("validate: unknown", "PUT", unknown, {"connector.class": "NoSuch"})


def loggers(held: Talk) -> None:
    held.ask("loggers", "GET", "/admin/loggers")
    held.ask("logger: root", "GET", "/admin/loggers/root")
    held.ask("logger: unknown", "GET", "/admin/loggers/no.such.logger")
    one = "/admin/loggers/org.apache.kafka.connect.runtime"
    held.ask("logger: set", "PUT", one, {"level": "WARN"})
    held.ask("logger: get", "GET", one)
    held.ask("logger: worker", "PUT", f"{one}?scope=worker", {"level": "debug"})
    held.ask("logger: cluster", "PUT", f"{one}?scope=cluster", {"level": "INFO"})
    held.ask("logger: scope", "PUT", f"{one}?scope=planet", {"level": "INFO"})
    held.ask("logger: loud", "PUT", one, {"level": "LOUD"})
    held.ask("logger: cluster, loud", "PUT", f"{one}?scope=cluster", {"level": "LOUD"})
    held.ask("logger: no level", "PUT", one, {})


def internal(held: Talk) -> None:
    """What only workers ask each other."""
    held.ask("put tasks", "POST", "/connectors/s/tasks", [{"number": "0"}])
    held.ask("fence", "PUT", "/connectors/s/fence")


def endings(held: Talk) -> None:
    for name in ("s", "k", "p", "n", "f", "c"):
        held.ask(f"delete {name}", "DELETE", f"/connectors/{name}")
    held.ask("delete s again", "DELETE", "/connectors/s")
    held.ask("delete a b/c", "DELETE", "/connectors/a%20b%2Fc")
    held.ask("s: status, deleted", "GET", "/connectors/s/status")
