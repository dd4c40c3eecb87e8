"""Levels of features: what is refused, what changes, and who may start (KIP-584)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cluster.features import (
    DEFAULT_LEVELS,
    GROUP_VERSION,
    METADATA_VERSION,
    SHARE_VERSION,
    SUPPORTED,
    TRANSACTION_VERSION,
    FeatureUpdate,
    UpgradeType,
    check_supported,
    update_features,
)
from headrace.cluster.image import ClusterImage, FeaturesChanged
from headrace.errors import ClientFault, ConfigError, Error
from tests.cluster.clusters import cluster

UP, SAFE, UNSAFE = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE, UpgradeType.UNSAFE_DOWNGRADE


@pytest.fixture
def image() -> ClusterImage:
    made = cluster()
    made.apply([FeaturesChanged(DEFAULT_LEVELS, 0)])
    return made


def test_a_new_cluster_has_the_highest_levels(image: ClusterImage) -> None:
    """What a broker supports is what a cluster of such brokers begins with."""
    for name, levels in SUPPORTED.items():
        assert image.feature_level(name) == levels.highest
    assert image.feature_level("no.such.feature") == 0


def test_all_updates_are_one_change(image: ClusterImage) -> None:
    """Each sees the level that the one before it left; the epoch grows by one."""
    updates = [
        FeatureUpdate(TRANSACTION_VERSION, 1, SAFE),
        FeatureUpdate(GROUP_VERSION, 0, UNSAFE),
        FeatureUpdate(TRANSACTION_VERSION, 2, UP),
        FeatureUpdate(TRANSACTION_VERSION, 0, SAFE),
    ]
    (change,) = update_features(image, updates)
    rest = {METADATA_VERSION: 30, SHARE_VERSION: 1}
    assert change == FeaturesChanged(rest, epoch=1)
    image.apply([change])
    assert image.feature_level(GROUP_VERSION) == 0
    (change,) = update_features(image, [FeatureUpdate(GROUP_VERSION, 1, UP)])
    assert change == FeaturesChanged({**rest, GROUP_VERSION: 1}, epoch=2)


def test_the_same_levels_are_no_change(image: ClusterImage) -> None:
    """A request that changes nothing writes nothing."""
    assert update_features(image, []) == []
    back_and_forth = [
        FeatureUpdate(TRANSACTION_VERSION, 1, SAFE),
        FeatureUpdate(TRANSACTION_VERSION, 2, UP),
    ]
    assert update_features(image, back_and_forth) == []


@pytest.mark.parametrize(
    ("update", "text"),
    [
        (FeatureUpdate("kraft.version", 1, UP), "no such feature"),
        (FeatureUpdate(GROUP_VERSION, 2, UP), "supports the levels 0-1"),
        (FeatureUpdate(GROUP_VERSION, -1, SAFE), "supports the levels 0-1"),
        (FeatureUpdate(GROUP_VERSION, 1, 0), "no upgrade type 0"),
        (FeatureUpdate(GROUP_VERSION, 0, UP), "ask for a safe or an unsafe downgrade"),
        (FeatureUpdate(METADATA_VERSION, 29, SAFE), "cannot be lowered"),
        (FeatureUpdate(METADATA_VERSION, 29, UNSAFE), "cannot be lowered"),
    ],
)
def test_a_refusal_names_feature_level_and_reason(
    image: ClusterImage, update: FeatureUpdate, text: str
) -> None:
    """INVALID_UPDATE_VERSION, as Kafka answers in all of these cases."""
    with pytest.raises(ClientFault, match=text) as caught:
        update_features(image, [FeatureUpdate(TRANSACTION_VERSION, 1, SAFE), update])
    assert caught.value.error is Error.INVALID_UPDATE_VERSION
    assert f"{update.level} for feature {update.name}" in caught.value.message


def test_a_downgrade_does_not_raise(image: ClusterImage) -> None:
    """Who asks for a downgrade is wrong about the level if it would rise."""
    image.apply(update_features(image, [FeatureUpdate(GROUP_VERSION, 0, SAFE)]))
    with pytest.raises(ClientFault, match="not a downgrade, the level is 0"):
        update_features(image, [FeatureUpdate(GROUP_VERSION, 1, UNSAFE)])


def test_a_broker_does_not_join_what_it_cannot_do() -> None:
    """An older release refuses the levels of a newer one, and says what to do."""
    check_supported(DEFAULT_LEVELS)
    with pytest.raises(ConfigError, match=r"group.version at level 2.*supports 0-1.*lower it"):
        check_supported({GROUP_VERSION: 2})
    with pytest.raises(ConfigError, match=r"streams.version at level 1.*no such feature"):
        check_supported({"streams.version": 1})


@given(
    st.lists(
        st.builds(
            FeatureUpdate,
            st.sampled_from([*SUPPORTED, "x"]),
            st.integers(-1, 31),
            st.integers(0, 4),
        ),
        max_size=4,
    )
)
def test_no_update_leads_out_of_what_is_supported(updates: list[FeatureUpdate]) -> None:
    """Whatever is asked: a refusal, or levels with which a broker starts again."""
    image = cluster()
    image.apply([FeaturesChanged(DEFAULT_LEVELS, 0)])
    try:
        image.apply(update_features(image, updates))
    except ClientFault:
        return
    check_supported(image.features)
    assert image.feature_level(METADATA_VERSION) == 30
