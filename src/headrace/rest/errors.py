"""The errors of the API: HTTP status, error code and text, under Confluent's numbers.

One constructor per code of version 2, so that a route says what is wrong and never which number
that has. Nothing here talks to Kafka.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import HeadraceError

KAFKA_ERROR: Final = 50002
KAFKA_RETRIABLE_ERROR: Final = 50003
KAFKA_AUTHENTICATION: Final = 40101
KAFKA_AUTHORIZATION: Final = 40301


class RestError(HeadraceError):
    """What a client is told; `retry_after_s` where the same request may work later."""

    def __init__(
        self,
        http_status: int,
        error_code: int,
        message: str,
        *,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.http_status = http_status
        self.error_code = error_code
        self.message = message
        self.retry_after_s = retry_after_s


# -- the request itself ----------------------------------------------------------------------------


def bad_data(reason: str) -> RestError:
    """JSON of another type than expected: no base64, a value that does not fit its schema."""
    return RestError(400, 400, f"Bad Request: {reason}")


def invalid_field(reason: str) -> RestError:
    return RestError(422, 422, reason)


def not_found() -> RestError:
    return RestError(404, 404, "HTTP 404 Not Found")


def too_large(max_bytes: int) -> RestError:
    return RestError(
        413, 413, f"The request's body is larger than {max_bytes} bytes (request.max.bytes)"
    )


def too_many_requests(reason: str, retry_after_s: int = 1) -> RestError:
    return RestError(429, 42901, reason, retry_after_s=retry_after_s)


# -- topics and partitions -------------------------------------------------------------------------


def topic_not_found() -> RestError:
    return RestError(404, 40401, "Topic not found.")


def partition_not_found() -> RestError:
    return RestError(404, 40402, "Partition not found.")


def leader_not_available() -> RestError:
    return RestError(404, 40404, "Leader not available.")


# -- consumers -------------------------------------------------------------------------------------


def consumer_instance_not_found() -> RestError:
    return RestError(404, 40403, "Consumer instance not found.")


def consumer_format_mismatch() -> RestError:
    return RestError(
        406,
        40601,
        "The requested embedded data format does not match the deserializer for this consumer "
        "instance",
    )


def consumer_already_subscribed() -> RestError:
    return RestError(
        409,
        40901,
        "Consumer cannot subscribe the the specified target because it has already subscribed to "
        "other topics.",
    )


def consumer_already_exists() -> RestError:
    return RestError(
        409,
        40902,
        "Consumer with specified consumer ID already exists in the specified consumer group.",
    )


def illegal_state(reason: str) -> RestError:
    return RestError(409, 40903, f"Illegal state: {reason}")


def invalid_consumer_config(reason: str) -> RestError:
    return RestError(422, 42204, f"Invalid consumer configuration: {reason}")


# -- schemas and values ----------------------------------------------------------------------------


def key_schema_missing() -> RestError:
    return RestError(422, 42201, "Request includes keys but does not include key schema")


def value_schema_missing() -> RestError:
    return RestError(422, 42202, "Request includes values but does not include value schema")


def invalid_schema(reason: str) -> RestError:
    return RestError(422, 42205, f"Invalid schema: {reason}")


def serialization_failed(reason: str) -> RestError:
    return RestError(422, 42207, f"Error serializing message: {reason}")


def deserialization_failed(reason: str) -> RestError:
    return RestError(422, 42207, f"Error deserializing message: {reason}")


def registry_unavailable(reason: str) -> RestError:
    return RestError(503, 50302, f"Schema Registry: {reason}", retry_after_s=1)


# -- Kafka -----------------------------------------------------------------------------------------


def kafka_error(reason: str, *, retriable: bool) -> RestError:
    if retriable:
        return RestError(503, KAFKA_RETRIABLE_ERROR, f"Retriable Kafka error: {reason}")
    return RestError(500, KAFKA_ERROR, f"Kafka error: {reason}")


def kafka_unauthenticated(reason: str) -> RestError:
    return RestError(401, KAFKA_AUTHENTICATION, reason)


def kafka_forbidden(reason: str) -> RestError:
    return RestError(403, KAFKA_AUTHORIZATION, reason)
