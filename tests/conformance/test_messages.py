"""Every message in every version against Kafka's own specifications, as kio holds them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.wire import decode, encode_bytes
from headrace.wire.header import decode_request_header, encode_request, encode_response
from headrace.wire.registry import Api, all_apis
from headrace.wire.schema import info
from tests.conformance import kio_oracle as kio
from tests.conformance.message_strategies import messages
from tests.generated import examples

# Kafka 4.3 marks this version unstable and does not offer it to clients.
UNSTABLE = {("InitProducerId", 6)}

MESSAGE_VERSIONS = [
    pytest.param(api, kind, version, id=f"{api.name}{kind.capitalize()}-v{version}")
    for api in all_apis()
    for version in api.versions
    for kind in ("request", "response")
]
every_message_version = pytest.mark.parametrize(("api", "kind", "version"), MESSAGE_VERSIONS)

some_examples = settings(
    max_examples=examples(5),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def our_class(api: Api, kind: str) -> type:
    return api.request if kind == "request" else api.response


@pytest.mark.parametrize("api", all_apis(), ids=lambda api: api.name)
def test_versions_are_those_of_kafka(api: Api) -> None:
    """Each API has exactly the stable versions that Kafka's specifications define."""
    stable = {n for n in kio.versions_of(api) if (api.name, n) not in UNSTABLE}
    assert set(api.versions) == stable


@pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning")
def test_versions_are_those_of_a_live_broker() -> None:
    """Ranges equal what kafka-python recorded of an Apache Kafka 4.3 broker.

    Produce is the exception: that broker claims versions 0-2 and refuses them (KAFKA-18659). It had
    no plug-in for client telemetry, without which Kafka does not tell of 71 and 72.
    """
    from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

    recorded = {71: (0, 0), 72: (0, 0), **BROKER_API_VERSIONS[(4, 3)]}
    ours = {api.key: (api.min_version, api.max_version) for api in all_apis()}
    assert ours == {key: recorded[key] for key in ours} | {0: (3, recorded[0][1])}


@every_message_version
def test_shape(api: Api, kind: str, version: int) -> None:
    """Names, order, wire types, tags and nullability of all fields follow the specification."""
    theirs = kio.class_of(api, kind, version)
    assert kio.our_shape(our_class(api, kind), version) == kio.their_shape(theirs)


@every_message_version
def test_defaults(api: Api, kind: str, version: int) -> None:
    """A field has the default of the specification, or the implicit one of its type."""
    theirs = kio.class_of(api, kind, version)
    assert kio.default_complaints(our_class(api, kind), theirs, version) == []


@every_message_version
def test_key_flexibility_and_header(api: Api, kind: str, version: int) -> None:
    """Api key, flexible versions and header versions follow the specification."""
    theirs, declared = kio.class_of(api, kind, version), info(our_class(api, kind))
    assert declared.key == theirs.__api_key__
    assert (version >= declared.flexible) == theirs.__flexible__
    header_version = theirs.__header_schema__.__version__
    if kind == "request":
        assert (version >= declared.flexible) == (header_version == 2)
    else:
        assert (version >= declared.response_header_flexible) == (header_version == 1)


@pytest.mark.seeds
@pytest.mark.spec("admin:RQ-18")
@every_message_version
def test_bytes(api: Api, kind: str, version: int) -> None:
    """Any message is the same bytes here and in kio, and the same values when read back."""
    cls, theirs = our_class(api, kind), kio.class_of(api, kind, version)

    @some_examples
    @given(message=messages(cls, version))
    def check(message: object) -> None:
        data = encode_bytes(message, version)
        entity = kio.decode(theirs, data)
        assert kio.plain(entity) == kio.plain_message(message, version)
        assert kio.encode(entity) == data
        ours: object = decode(cls, version, data)
        assert kio.plain_message(ours, version) == kio.plain_message(message, version)
        assert encode_bytes(ours, version) == data

    check()


@pytest.mark.spec("book1:F-03")
@pytest.mark.parametrize("api", all_apis(), ids=lambda api: api.name)
def test_request_frame(api: Api) -> None:
    """A request frame is size, header in the right version, body: as kio writes it."""

    @some_examples
    @given(
        version=st.sampled_from(api.versions),
        correlation_id=st.integers(-(2**31), 2**31 - 1),
        client_id=st.none() | st.text(max_size=20),
        data=st.data(),
    )
    def check(
        version: int, correlation_id: int, client_id: str | None, data: st.DataObject
    ) -> None:
        message = data.draw(messages(api.request, version))
        frame = b"".join(encode_request(correlation_id, client_id, version, message))
        header_class = kio.class_of(api, "request", version).__header_schema__
        header = header_class(
            request_api_key=api.key,
            request_api_version=version,
            correlation_id=correlation_id,
            client_id=client_id,
        )
        body = kio.encode(header) + encode_bytes(message, version)
        assert frame == len(body).to_bytes(4, "big") + body
        read, pos = decode_request_header(frame, 4, api.request)
        assert (read.api_key, read.api_version) == (api.key, version)
        assert (read.correlation_id, read.client_id) == (correlation_id, client_id)
        assert frame[pos:] == encode_bytes(message, version)

    check()


@pytest.mark.parametrize("api", all_apis(), ids=lambda api: api.name)
def test_response_frame(api: Api) -> None:
    """A response frame is size, header in the right version, body: as kio writes it."""

    @some_examples
    @given(
        version=st.sampled_from(api.versions),
        correlation_id=st.integers(-(2**31), 2**31 - 1),
        data=st.data(),
    )
    def check(version: int, correlation_id: int, data: st.DataObject) -> None:
        message = data.draw(messages(api.response, version))
        frame = b"".join(encode_response(correlation_id, version, message))
        header_class = kio.class_of(api, "response", version).__header_schema__
        header = header_class(correlation_id=correlation_id)
        body = kio.encode(header) + encode_bytes(message, version)
        assert frame == len(body).to_bytes(4, "big") + body

    check()
