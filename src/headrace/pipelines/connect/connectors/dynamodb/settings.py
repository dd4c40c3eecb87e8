"""What can be set of the DynamoDB source."""

from __future__ import annotations

from headrace.pipelines.connect.config.definition import Password, not_empty
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import ConfigException

TABLES = "dynamodb.table.whitelist"


class DynamoSettings(Config):
    """Of the source."""

    region: str = Config.key(
        "aws.region", doc="The region of the tables.", importance="high", check=not_empty
    )
    access_key: str | None = Config.key(
        "aws.access.key.id",
        default=None,
        doc="Id of the access key; without it boto3 looks where it always does.",
    )
    secret_key: Password | None = Config.key(
        "aws.secret.key", default=None, doc="The access key's secret."
    )
    endpoint: str | None = Config.key(
        "dynamodb.service.endpoint",
        default=None,
        doc="Address of the service, if it is not that of the region.",
    )
    tables: list[str] = Config.key(
        TABLES, doc="The tables whose changes are read.", importance="high"
    )
    prefix: str = Config.key(
        "kafka.topic.prefix",
        default="dynamodb-",
        doc="What comes before a table's name in the name of its topic.",
        importance="high",
    )
    poll_ms: int = Config.key(
        "poll.interval.ms",
        default=1000,
        at_least=1,
        doc="Milliseconds between reads of shards that have nothing new.",
    )
    shards_ms: int = Config.key(
        "shards.interval.ms",
        default=60_000,
        at_least=1,
        doc="Milliseconds between looks for new shards.",
    )

    def check(self) -> None:
        """What no single setting can say of itself."""
        if not self.tables:
            raise ConfigException.of(TABLES, "", "the name of a table is expected")
