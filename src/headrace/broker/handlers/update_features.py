"""UpdateFeatures, v0-v2 (KIP-584).

Behaviour: new levels for features, all of them or none; the first rejected one is reported for the
whole request, with INVALID_UPDATE_VERSION. A level is lowered only if the request asks for a
downgrade, safe or unsafe; level 0 switches a feature off. `validate_only` answers as if.

Version notes: v0 can only raise levels; its flag for downgrades is not looked at, as in Kafka 4 ·
v1 kinds of downgrades, `validate_only` (KIP-778) · v2 no results for single features, which up to
v1 repeat the success of the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.net.handler import Answer, Handler
from headrace.cluster.features import FeatureUpdate, update_features
from headrace.cluster.image import ClusterImage, FeaturesChanged
from headrace.errors import ClientFault
from headrace.wire.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.call import Call


def handle(
    metadata: Metadata, request: UpdateFeaturesRequest, call: Call
) -> Answer[UpdateFeaturesResponse]:
    return _update(metadata, request)


async def _update(metadata: Metadata, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    updates = [
        FeatureUpdate(asked.feature, asked.max_version_level, asked.upgrade_type)
        for asked in request.feature_updates
    ]

    def decide(image: ClusterImage) -> list[FeaturesChanged]:
        changes = update_features(image, updates)
        return [] if request.validate_only else changes

    try:
        await metadata.change(decide)
    except ClientFault as fault:
        return UpdateFeaturesResponse(error_code=fault.error, error_message=fault.message)
    return UpdateFeaturesResponse(
        error_code=0,
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=update.name, error_code=0, error_message=None)
            for update in updates
        ],
    )


HANDLER = Handler(request=UpdateFeaturesRequest, handle=handle)
