"""Requests and replies of the registry's API, as Confluent names and orders their properties.

Fields that are absent are left out of the JSON. Most structs are also part of the values in the
`_schemas` topic, so their order is part of a format on a disk: append, never re-order.

Nothing here decides: what a value may be is checked by the operation that takes it.
"""

from __future__ import annotations

import msgspec


class Entity(msgspec.Struct, omit_defaults=True, rename="camel", frozen=True):
    """What all have in common: immutable, properties in camel case, no nulls in the output."""


def _false() -> bool:
    """A default that is written: only a literal default is left out of the JSON."""
    return False


class SchemaReference(Entity, frozen=True):
    """Another schema that this one needs, under the name by which it is imported."""

    name: str
    subject: str
    version: int


class Metadata(Entity, frozen=True):
    """What is known about a schema besides its fields."""

    tags: dict[str, list[str]] | None = None
    properties: dict[str, str] | None = None
    sensitive: list[str] | None = None


class Rule(Entity, frozen=True):
    """One rule of a data contract; clients execute it."""

    name: str | None = None
    doc: str | None = None
    kind: str | None = None
    mode: str | None = None
    type: str | None = None
    tags: list[str] | None = None
    params: dict[str, str] | None = None
    expr: str | None = None
    on_success: str | None = None
    on_failure: str | None = None
    disabled: bool = msgspec.field(default_factory=_false)


class RuleSet(Entity, frozen=True):
    """The rules of a schema, by when they run."""

    migration_rules: list[Rule] | None = None
    domain_rules: list[Rule] | None = None
    encoding_rules: list[Rule] | None = None
    enable_at: str | None = None


class SchemaEntity(Entity, frozen=True):
    """A place in a schema that can carry tags."""

    entity_path: str
    entity_type: str


class SchemaTags(Entity, frozen=True):
    """Tags of one place."""

    schema_entity: SchemaEntity
    tags: list[str] = []


# -- requests --------------------------------------------------------------------------------------


class RegisterSchemaRequest(Entity, frozen=True):
    """The body of registration, look-up and compatibility checks."""

    version: int | None = None
    id: int | None = None
    schema_type: str | None = None
    references: list[SchemaReference] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    schema_tags_to_add: list[SchemaTags] | None = None
    schema_tags_to_remove: list[SchemaTags] | None = None
    propagate_schema_tags: bool | None = None
    schema: str | None = None


class TagSchemaRequest(Entity, frozen=True):
    """The body of `POST /subjects/{s}/versions/{v}/tags`."""

    new_version: int | None = None
    tags_to_add: list[SchemaTags] | None = None
    tags_to_remove: list[SchemaTags] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    rules_to_merge: RuleSet | None = None
    rules_to_remove: list[str] | None = None


class ConfigUpdateRequest(Entity, frozen=True):
    """The body of `PUT /config…`; it says `compatibility` where the reply says the level.

    A property that is absent stays as it is; one that is null is taken away.
    """

    alias: str | msgspec.UnsetType | None = msgspec.UNSET
    normalize: bool | msgspec.UnsetType | None = msgspec.UNSET
    validate_fields: bool | msgspec.UnsetType | None = msgspec.UNSET
    compatibility: str | msgspec.UnsetType | None = msgspec.UNSET
    compatibility_policy: str | msgspec.UnsetType | None = msgspec.UNSET
    compatibility_group: str | msgspec.UnsetType | None = msgspec.UNSET
    default_metadata: Metadata | msgspec.UnsetType | None = msgspec.UNSET
    override_metadata: Metadata | msgspec.UnsetType | None = msgspec.UNSET
    default_rule_set: RuleSet | msgspec.UnsetType | None = msgspec.UNSET
    override_rule_set: RuleSet | msgspec.UnsetType | None = msgspec.UNSET


class ModeUpdateRequest(Entity, frozen=True):
    """The body of `PUT /mode…`."""

    mode: str | None = None


# -- replies ---------------------------------------------------------------------------------------


class Schema(Entity, frozen=True):
    """One version of a subject."""

    subject: str
    version: int
    id: int
    guid: str | None = None
    schema_type: str | None = None
    references: list[SchemaReference] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    schema: str | None = None
    schema_tags: list[SchemaTags] | None = None
    ts: int | None = None
    deleted: bool | None = None


class ExtendedSchema(Schema, frozen=True):
    """A version in `GET /schemas?aliases=true`."""

    aliases: list[str] | None = None


class SchemaString(Entity, frozen=True):
    """A schema by its id or GUID."""

    subject: str | None = None
    version: int | None = None
    guid: str | None = None
    schema_type: str | None = None
    schema: str | None = None
    references: list[SchemaReference] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    schema_tags: list[SchemaTags] | None = None
    max_id: int | None = None
    ts: int | None = None
    deleted: bool | None = None


class RegisterSchemaResponse(Entity, frozen=True):
    """What was registered, under which id and version."""

    id: int
    version: int | None = None
    guid: str | None = None
    schema_type: str | None = None
    references: list[SchemaReference] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    schema: str | None = None
    schema_tags: list[SchemaTags] | None = None
    ts: int | None = None
    deleted: bool | None = None


class SubjectVersion(Entity, frozen=True):
    """Where an id is used."""

    subject: str
    version: int


class ContextId(Entity, frozen=True):
    """The id of a GUID in one context."""

    context: str
    id: int


class Problem(Entity, frozen=True):
    """One incompatibility in parts, for programs; Confluent has only the message."""

    rule: str
    path: str
    description: str
    before: str | None = None
    after: str | None = None
    version: int | None = None


class CompatibilityCheckResponse(msgspec.Struct, omit_defaults=True, frozen=True):
    """Whether a schema fits; with `verbose=true` why not, if so in an empty list.

    `problems` is an addition of ours.
    """

    is_compatible: bool
    messages: list[str] | None = None
    problems: list[Problem] | None = None


class Config(Entity, frozen=True):
    """The settings of a subject, a context or all."""

    alias: str | None = None
    normalize: bool | None = None
    validate_fields: bool | None = None
    compatibility_level: str | None = None
    compatibility_policy: str | None = None
    compatibility_group: str | None = None
    default_metadata: Metadata | None = None
    override_metadata: Metadata | None = None
    default_rule_set: RuleSet | None = None
    override_rule_set: RuleSet | None = None


class ModeReply(Entity, frozen=True):
    """The mode of a subject, a context or all."""

    mode: str | None = None


class ErrorMessage(msgspec.Struct, omit_defaults=True, frozen=True):
    """The body of every error; `problems`, of incompatible schemas, are an addition of ours."""

    error_code: int
    message: str
    problems: list[Problem] | None = None


# -- associations ----------------------------------------------------------------------------------


class AssociationInfo(Entity, frozen=True):
    """One association as it is asked for."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool | None = None
    schema: RegisterSchemaRequest | None = None
    normalize: bool | None = None


class AssociationRequest(Entity, frozen=True):
    """The associations of one resource (a topic, say) with subjects."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationInfo] | None = None


class AssociationBatchRequest(Entity, frozen=True):
    """Several resources at once."""

    requests: list[AssociationRequest] = []


class Association(Entity, frozen=True):
    """One association as it is stored."""

    subject: str | None = None
    guid: str | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool = msgspec.field(default_factory=_false)


class AssociationInfoReply(Entity, frozen=True):
    """One association in the reply to its creation."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool = msgspec.field(default_factory=_false)
    schema: Schema | None = None


class AssociationResponse(Entity, frozen=True):
    """The associations of a resource after the request."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationInfoReply] | None = None


class AssociationResult(Entity, frozen=True):
    """One entry of a batch: an error or a result."""

    error: ErrorMessage | None = None
    result: AssociationResponse | None = None


class AssociationBatchResponse(Entity, frozen=True):
    """The body of a 207."""

    results: list[AssociationResult]


# -- encryption keys -------------------------------------------------------------------------------


class CreateKekRequest(Entity, frozen=True):
    """A key-encryption key, which lives in a key-management service."""

    name: str | None = None
    kms_type: str | None = None
    kms_key_id: str | None = None
    kms_props: dict[str, str] | None = None
    doc: str | None = None
    shared: bool = False
    deleted: bool = False


class UpdateKekRequest(Entity, frozen=True):
    """What of a key-encryption key can change; absent properties stay, null takes away."""

    kms_props: dict[str, str] | msgspec.UnsetType | None = msgspec.UNSET
    doc: str | msgspec.UnsetType | None = msgspec.UNSET
    shared: bool | msgspec.UnsetType | None = msgspec.UNSET


class CreateDekRequest(Entity, frozen=True):
    """A data-encryption key, already encrypted by its key-encryption key."""

    subject: str | None = None
    version: int | None = None
    algorithm: str | None = None
    encrypted_key_material: str | None = None
    deleted: bool = False


class Kek(Entity, frozen=True):
    """A key-encryption key as it is stored."""

    name: str
    kms_type: str | None = None
    kms_key_id: str | None = None
    kms_props: dict[str, str] | None = None
    doc: str | None = None
    shared: bool = msgspec.field(default_factory=_false)
    ts: int | None = None
    deleted: bool | None = None


class Dek(Entity, frozen=True):
    """A data-encryption key as it is stored; the registry never sees it in the clear."""

    kek_name: str
    subject: str
    version: int
    algorithm: str
    encrypted_key_material: str | None = None
    key_material: str | None = None
    ts: int | None = None
    deleted: bool | None = None
