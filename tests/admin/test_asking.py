"""What an `Admin` makes of answers: a controller that moved, refusals, ACLs, assignments."""

from __future__ import annotations

import pytest

from headrace.admin.acls import (
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    create_acls,
    delete_acls,
    find_acls,
)
from headrace.admin.faults import Refused
from headrace.admin.groups import read_assignment
from headrace.errors import Error
from headrace.types import TopicPartition
from headrace.wire.consumer_protocol import (
    ConsumerProtocolAssignment,
    TopicPartitions,
    encode_assignment,
)
from headrace.wire.messages.create_acls import AclCreationResult, CreateAclsResponse
from headrace.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from headrace.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from headrace.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from tests.admin.canned import Canned

ALICE = Acl(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:alice",
    "*",
    Operation.READ,
    Permission.ALLOW,
)
ANYTHING = Acl(ResourceType.ANY, None, PatternType.ANY, None, None, Operation.ANY, Permission.ANY)


def created(code: int, message: str | None = None) -> CreateTopicsResponse:
    result = CreatableTopicResult(
        name="orders",
        error_code=code,
        error_message=message,
        num_partitions=3,
        replication_factor=2,
    )
    return CreateTopicsResponse(topics=[result])


def test_a_controller_that_has_moved_is_looked_for_again() -> None:
    """The same request is sent once more; its outcome is what counts."""
    admin = Canned(created(Error.NOT_CONTROLLER), created(Error.NONE))
    assert admin.create("orders") == (3, 2)
    assert len(admin.asked) == 2


def test_a_refusal_has_the_words_of_the_broker() -> None:
    """And the error itself, for callers that handle one of them."""
    admin = Canned(created(Error.TOPIC_ALREADY_EXISTS, "Topic 'orders' already exists."))
    with pytest.raises(Refused, match="already exists") as refused:
        admin.create("orders")
    assert refused.value.error is Error.TOPIC_ALREADY_EXISTS


def test_acls_are_found() -> None:
    """One for each binding of a resource; a kind from the future is unknown."""
    binding = AclDescription(principal="User:alice", host="*", operation=3, permission_type=3)
    strange = AclDescription(principal="User:bob", host="*", operation=99, permission_type=3)
    resource = DescribeAclsResource(
        resource_type=2, resource_name="orders", pattern_type=3, acls=[binding, strange]
    )
    answer = DescribeAclsResponse(error_code=0, error_message=None, resources=[resource])
    admin = Canned(answer)
    assert find_acls(admin, ANYTHING) == [
        ALICE,
        ALICE._replace(principal="User:bob", operation=Operation.UNKNOWN),
    ]
    (request,) = admin.asked
    assert (request.resource_type_filter, request.resource_name_filter) == (1, None)
    assert (request.principal_filter, request.operation) == (None, Operation.ANY)


def test_acls_are_created() -> None:
    """In one request; the first refusal is raised."""
    done = AclCreationResult(error_code=0, error_message=None)
    failed = AclCreationResult(error_code=Error.SECURITY_DISABLED, error_message="No Authorizer")
    create_acls(Canned(CreateAclsResponse(results=[done])), [ALICE])
    with pytest.raises(Refused, match="No Authorizer"):
        create_acls(Canned(CreateAclsResponse(results=[done, failed])), [ALICE, ALICE])


def test_acls_are_deleted() -> None:
    """What was there is returned."""
    match = DeleteAclsMatchingAcl(
        error_code=0,
        error_message=None,
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )
    result = DeleteAclsFilterResult(error_code=0, error_message=None, matching_acls=[match])
    assert delete_acls(Canned(DeleteAclsResponse(filter_results=[result])), ANYTHING) == [ALICE]


def test_an_assignment_is_read_as_clients_write_it() -> None:
    """Bytes that are none, and any beginning of them, are no reason to fail."""
    topics = [
        TopicPartitions(topic="b", partitions=[1, 0]),
        TopicPartitions(topic="a", partitions=[2]),
    ]
    data = encode_assignment(ConsumerProtocolAssignment(assigned_partitions=topics), 1)
    expected = (TopicPartition("a", 2), TopicPartition("b", 0), TopicPartition("b", 1))
    assert read_assignment(data) == expected
    for length in range(len(data)):
        assert read_assignment(data[:length]) in ((), expected)
    assert read_assignment(b"\0\1" + b"\xff" * 40) == ()
