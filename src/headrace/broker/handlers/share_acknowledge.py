"""ShareAcknowledge, v1-v2.

Behaviour:
- needs a share session; epoch -1 closes it after the acknowledgements, and frees what else the
  member holds;
- per partition all acknowledgements are taken or none: INVALID_RECORD_STATE if a record is not
  held by the member (any more), INVALID_REQUEST for offsets and types that make no sense. Kafka
  says nothing where the start offset has passed the record, so that two members may believe that
  theirs was the accepted delivery; here the one that comes too late gets an error;
- is answered when what became of the records is kept.

Version notes: v2 locks can be renewed (KIP-1222).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.groups.tickets import CallAnswer
from headrace.broker.membership import leader_hints
from headrace.broker.net.call import Call
from headrace.broker.net.handler import Answer, Handler
from headrace.broker.sharing.requests import (
    Outcomes,
    acknowledge_all,
    acknowledged_parts,
    by_topic,
    leader_of,
    session_name,
)
from headrace.broker.sharing.sessions import FINAL_EPOCH, OPENING_EPOCH
from headrace.errors import ClientFault, Error
from headrace.wire.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.sharing.partitions import SharePartitions
    from headrace.broker.sharing.sessions import ShareSessions


def handle(
    metadata: Metadata,
    partitions: SharePartitions,
    sessions: ShareSessions,
    request: ShareAcknowledgeRequest,
    call: Call,
) -> Answer[ShareAcknowledgeResponse]:
    epoch = request.share_session_epoch
    try:
        name = session_name(request.group_id, request.member_id)
        if epoch == OPENING_EPOCH:
            raise ClientFault(
                Error.INVALID_SHARE_SESSION_EPOCH, "nothing is held when a session begins"
            )
        session = sessions.resume(name, epoch)
    except ClientFault as fault:
        return _refused(fault)
    reply: CallAnswer[ShareAcknowledgeResponse] = CallAnswer(call)

    def done(outcomes: Outcomes) -> None:
        if epoch == FINAL_EPOCH:
            sessions.close(session)
        reply.put(_response(metadata, partitions, call, name.group_id, outcomes))

    parts = list(acknowledged_parts(name.group_id, request.topics))
    acknowledge_all(partitions, name, parts, may_renew=request.is_renew_ack, done=done)
    return reply.outcome()


def _refused(fault: ClientFault) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(
        error_code=fault.error, error_message=str(fault), responses=[], node_endpoints=[]
    )


def _response(
    metadata: Metadata, partitions: SharePartitions, call: Call, group_id: str, outcomes: Outcomes
) -> ShareAcknowledgeResponse:
    leaders = {key: leader_of(metadata, key, error) for key, error in outcomes.items()}
    parts = [
        (
            key,
            PartitionData(
                partition_index=key.partition,
                error_code=error,
                current_leader=LeaderIdAndEpoch(
                    leader_id=leaders[key][0], leader_epoch=leaders[key][1]
                ),
            ),
        )
        for key, error in outcomes.items()
    ]
    hinted = [leaders[key][0] for key, error in outcomes.items() if error in leader_hints.HINTED]
    return ShareAcknowledgeResponse(
        error_code=0,
        acquisition_lock_timeout_ms=partitions.limits(group_id).lock_duration_ms,
        responses=[
            ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in by_topic(parts).items()
        ],
        node_endpoints=[
            NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in leader_hints.nodes(metadata, call, hinted)
        ],
    )


HANDLER = Handler(request=ShareAcknowledgeRequest, handle=handle)
