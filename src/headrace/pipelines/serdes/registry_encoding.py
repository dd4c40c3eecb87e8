"""A column of values to framed bytes: the payload by the format's plan, the frame in one step."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headrace.client.registry import RegisteredSchema
from headrace.pipelines.serdes.registry_formats import Plan
from headrace.schemas.framing import frame, frame_guid_header


@dataclass(frozen=True)
class RegistryEncoder:
    """Turns a column into framed bytes; travels to Spark's workers."""

    plan: Plan
    schema: RegisteredSchema
    in_header: bool

    def encode(self, values: pa.Array) -> pa.Array:
        """Bytes with an id before them, or struct<value, header> with a GUID in the latter."""
        payloads = self.plan.payloads(values)
        if not self.in_header:
            head = pa.scalar(frame(self.schema.id, b"", self.plan.indexes), pa.binary())
            return pc.binary_join_element_wise(head, payloads, pa.scalar(b"", pa.binary()))
        assert self.schema.guid is not None, "the driver has looked"
        header = pa.scalar(frame_guid_header(self.schema.guid, self.plan.indexes), pa.binary())
        headers = pc.if_else(payloads.is_valid(), header, pa.scalar(None, pa.binary()))
        return pa.StructArray.from_arrays([payloads, headers], ["value", "header"])
