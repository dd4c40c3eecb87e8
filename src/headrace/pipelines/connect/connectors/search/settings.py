"""What can be set of the search sink, under the names of Confluent's."""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.config.definition import Password, one_of
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.connectors.addresses import without_user
from headrace.pipelines.connect.faults import ConfigException

_URL: Final = "connection.url"
_MAP: Final = "topic.index.map"


class SearchSettings(Config):
    """Of the sink."""

    urls: list[str] = Config.key(
        _URL, doc="Addresses of the cluster: http://host:9200, tried in turn.", importance="high"
    )
    username: str | None = Config.key(
        "connection.username", default=None, doc="User of the cluster."
    )
    password: Password | None = Config.key(
        "connection.password", default=None, doc="Password of the user."
    )
    type_name: str = Config.key(
        "type.name",
        default="_doc",
        doc="Accepted and not used: since version 7 an index has one type.",
        importance="low",
    )
    key_ignore: bool = Config.key(
        "key.ignore",
        default=False,
        doc="Whether a document's id is topic+partition+offset instead of the record's key.",
        importance="high",
    )
    schema_ignore: bool = Config.key(
        "schema.ignore",
        default=False,
        doc="Whether the cluster infers the mapping of a new index; otherwise it is created from "
        "the schema of the first record.",
    )
    batch_size: int = Config.key(
        "batch.size", default=2000, at_least=1, doc="The most documents of one request."
    )
    max_retries: int = Config.key(
        "max.retries",
        default=5,
        at_least=0,
        doc="How many times a request is tried again after a fault that may pass.",
    )
    retry_backoff_ms: int = Config.key(
        "retry.backoff.ms",
        default=100,
        at_least=0,
        doc="Milliseconds before the first retry; each further one waits twice as long.",
    )
    connection_timeout_ms: int = Config.key(
        "connection.timeout.ms",
        default=1000,
        at_least=1,
        doc="Accepted and not used: read.timeout.ms limits the connection too.",
        importance="low",
    )
    read_timeout_ms: int = Config.key(
        "read.timeout.ms",
        default=3000,
        at_least=1,
        doc="How long an answer is waited for, in milliseconds.",
    )
    null_values: str = Config.key(
        "behavior.on.null.values",
        default="fail",
        check=one_of("ignore", "delete", "fail", ignore_case=True),
        doc="What becomes of a record without a value: ignore it, delete the document of its key, "
        "fail.",
    )
    malformed: str = Config.key(
        "behavior.on.malformed.documents",
        default="fail",
        check=one_of("ignore", "warn", "fail", ignore_case=True),
        doc="What becomes of a document that the index does not take: ignore it, warn, fail.",
    )
    write_method: str = Config.key(
        "write.method",
        default="insert",
        check=one_of("insert", "upsert", ignore_case=True),
        doc="Whether a document takes the place of the one with its id, or is merged into it.",
    )
    index_map: list[str] = Config.key(
        _MAP,
        default=[],
        doc="Indices of topics, topic:index; otherwise the topic's name in lower case.",
    )
    drop_invalid: bool = Config.key(
        "drop.invalid.message",
        default=False,
        doc="Whether a record that cannot become a document is dropped instead of failing.",
    )

    def check(self) -> None:
        """What no single setting can say of itself."""
        for url in self.urls:
            if not url.startswith(("http://", "https://")):
                raise ConfigException.of(_URL, without_user(url), "http://host:9200 is expected")
        if not self.urls:
            raise ConfigException.of(_URL, "", "http://host:9200 is expected")
        self.indices()
        if self.write_method.lower() == "upsert" and self.key_ignore:
            raise ConfigException("write.method=upsert needs keys: set key.ignore=false")

    def indices(self) -> dict[str, str]:
        """The index of each topic that has one of its own."""
        pairs = [entry.partition(":") for entry in self.index_map]
        for topic, colon, index in pairs:
            if not (topic and colon and index):
                raise ConfigException.of(_MAP, f"{topic}{colon}{index}", "topic:index is expected")
        return {topic.strip(): index.strip() for topic, _, index in pairs}
