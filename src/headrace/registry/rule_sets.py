"""Rules and metadata of data contracts: checked when they come in, merged with a scope's own.

The registry stores rules; clients execute them. What a rule's expression means is not known here.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from headrace.registry import errors
from headrace.registry.entities import Config, Metadata, Rule, RuleSet

MIGRATION_MODES: Final = ("UPGRADE", "DOWNGRADE", "UPDOWN")
DOMAIN_MODES: Final = ("WRITE", "READ", "WRITEREAD")
KINDS: Final = ("TRANSFORM", "CONDITION")
# Rules of these modes run twice, so they may name an action for each time.
TWOFOLD_MODES: Final = ("UPDOWN", "WRITEREAD")
LONGEST_NAME: Final = 64
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
CONFLUENT_VERSION: Final = "confluent:version"


def check_rule_set(rule_set: RuleSet | None) -> None:
    """42210 for a set of rules that cannot work."""
    if rule_set is None:
        return
    names: set[str] = set()
    kinds = (
        ("Migration", rule_set.migration_rules, MIGRATION_MODES),
        ("Domain", rule_set.domain_rules, DOMAIN_MODES),
        ("Encoding", rule_set.encoding_rules, DOMAIN_MODES),
    )
    for title, rules, modes in kinds:
        for rule in rules or ():
            name = _checked_name(rule)
            if name in names:
                raise errors.invalid_rule_set(f"Found rule with duplicate name '{name}'")
            names.add(name)
            _check_rule(rule)
            if rule.mode not in modes:
                raise errors.invalid_rule_set(f"{title} rules can only be {', '.join(modes)}")


def _checked_name(rule: Rule) -> str:
    if not rule.name:
        raise errors.invalid_rule_set("Empty rule name")
    if len(rule.name) > LONGEST_NAME:
        raise errors.invalid_rule_set(f"Rule name is longer than {LONGEST_NAME} characters")
    if _NAME.fullmatch(rule.name) is None:
        raise errors.invalid_rule_set(f"Illegal character in rule name: {rule.name}")
    return rule.name


def _check_rule(rule: Rule) -> None:
    for title, value in (("kind", rule.kind), ("mode", rule.mode), ("type", rule.type)):
        if not value:
            raise errors.invalid_rule_set(f"Missing rule {title}")
    if rule.kind not in KINDS:
        raise errors.invalid_rule_set(f"Rule kind '{rule.kind}' is none of {', '.join(KINDS)}")
    most = 2 if rule.mode in TWOFOLD_MODES else 1
    for title, actions in (("onSuccess", rule.on_success), ("onFailure", rule.on_failure)):
        if actions is not None and actions.count(",") >= most:
            raise errors.invalid_rule_set(
                f"Rule '{rule.name}' names too many actions in {title}: mode {rule.mode} "
                f"allows {most}"
            )


def merged_metadata(old: Metadata | None, new: Metadata | None) -> Metadata | None:
    """Both together; what the new one says wins."""
    if old is None or new is None:
        return new if old is None else old
    return Metadata(
        tags={**(old.tags or {}), **(new.tags or {})} or None,
        properties={**(old.properties or {}), **(new.properties or {})} or None,
        sensitive=[*(old.sensitive or ()), *(new.sensitive or ())] or None,
    )


def merged_rule_sets(old: RuleSet | None, new: RuleSet | None) -> RuleSet | None:
    """Both together; a new rule takes the place of an old one with its name."""
    if old is None or new is None:
        return new if old is None else old
    return RuleSet(
        migration_rules=_merged_rules(old.migration_rules, new.migration_rules),
        domain_rules=_merged_rules(old.domain_rules, new.domain_rules),
        encoding_rules=_merged_rules(old.encoding_rules, new.encoding_rules),
        enable_at=new.enable_at or old.enable_at,
    )


def _merged_rules(old: list[Rule] | None, new: list[Rule] | None) -> list[Rule] | None:
    names = {rule.name for rule in new or ()}
    return [*(rule for rule in old or () if rule.name not in names), *(new or ())] or None


def without_rules(rule_set: RuleSet | None, names: list[str]) -> RuleSet | None:
    """A set of rules without those of some names."""
    if rule_set is None:
        return None

    def kept(rules: list[Rule] | None) -> list[Rule] | None:
        return [rule for rule in rules or () if rule.name not in names] or None

    return RuleSet(
        migration_rules=kept(rule_set.migration_rules),
        domain_rules=kept(rule_set.domain_rules),
        encoding_rules=kept(rule_set.encoding_rules),
        enable_at=rule_set.enable_at,
    )


def with_scope(config: Config, metadata: Metadata | None) -> Metadata | None:
    """Metadata between the defaults and the overrides of its scope."""
    merged = merged_metadata(config.default_metadata, metadata)
    return merged_metadata(merged, config.override_metadata)


def rules_with_scope(config: Config, rule_set: RuleSet | None) -> RuleSet | None:
    """Rules between the defaults and the overrides of their scope."""
    merged = merged_rule_sets(config.default_rule_set, rule_set)
    return merged_rule_sets(merged, config.override_rule_set)


def has_defaults_or_overrides(config: Config) -> bool:
    """Whether a scope adds anything to what is registered in it."""
    return any(
        each is not None
        for each in (
            config.default_metadata,
            config.override_metadata,
            config.default_rule_set,
            config.override_rule_set,
        )
    )


def confluent_version(metadata: Metadata | None) -> str | None:
    """The version that is written down in the metadata."""
    return (metadata.properties or {}).get(CONFLUENT_VERSION) if metadata is not None else None


def with_confluent_version(metadata: Metadata | None, version: int | None) -> Metadata | None:
    """The metadata with a version written down in it, or, with None, without."""
    if metadata is None and version is None:
        return None
    metadata = metadata or Metadata()
    properties = {
        key: value for key, value in (metadata.properties or {}).items() if key != CONFLUENT_VERSION
    }
    if version is not None:
        properties[CONFLUENT_VERSION] = str(version)
    changed = msgspec.structs.replace(metadata, properties=properties or None)
    return None if changed == Metadata() else changed
