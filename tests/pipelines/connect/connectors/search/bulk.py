"""What a cluster makes of bulk requests, as its documentation says, in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from tests.pipelines.connect.connectors.stand_in import Answer, Request

Document = dict[str, object]


@dataclass
class Index:
    """Documents with versions; `faults` are answered before anything else."""

    documents: dict[tuple[str, str], tuple[int, Document | None]] = field(default_factory=dict)
    created: dict[str, object] = field(default_factory=dict)
    faults: list[Answer] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)
    most_bytes: int = 1 << 20

    def serve(self, request: Request) -> Answer:
        if request.path.startswith("/_bulk"):
            return self._bulk(request.body)
        name = request.path.strip("/").partition("?")[0]
        if request.method == "HEAD":
            return Answer(200 if name in self.created else 404, b"")
        assert request.method == "PUT", request
        self.created[name] = json.loads(request.body)
        return Answer(200, b'{"acknowledged":true}')

    def found(self, index: str) -> dict[str, Document]:
        return {
            name: document
            for (where, name), (_, document) in self.documents.items()
            if where == index and document is not None
        }

    def _bulk(self, body: bytes) -> Answer:
        if self.faults:
            return self.faults.pop(0)
        if len(body) > self.most_bytes:
            return Answer(413, b"{}")
        lines = iter(body.decode().splitlines())
        items = []
        for line in lines:
            ((kind, about),) = json.loads(line).items()
            document = None if kind == "delete" else json.loads(next(lines))
            items.append({kind: self._one(kind, about, document)})
        failed = any("error" in next(iter(item.values())) for item in items)
        return Answer(200, json.dumps({"took": 1, "errors": failed, "items": items}).encode())

    def _one(self, kind: str, about: Document, document: Document | None) -> Document:
        place = (str(about["_index"]), str(about["_id"]))
        if place[1] in self.busy:
            self.busy.discard(place[1])
            return _error(429, "rejected_execution_exception", "the queue is full")
        if document is not None and "malformed" in document:
            return _error(400, "mapper_parsing_exception", "failed to parse field [malformed]")
        if document is not None and "forbidden" in document:
            return _error(403, "security_exception", "no permissions")
        version, before = self.documents.get(place, (0, None))
        if kind == "update":
            assert document is not None
            inner = document["doc"]
            assert isinstance(inner, dict)
            self.documents[place] = (version + 1, {**(before or {}), **inner})
            return {"status": 200, "result": "updated"}
        wanted = about.get("version", version + 1)
        assert ("version" in about) == (about.get("version_type") == "external")
        assert isinstance(wanted, int)
        if wanted <= version:
            return _error(409, "version_conflict_engine_exception", "current version is higher")
        self.documents[place] = (wanted, document)
        return {"status": 200 if before else 201, "result": kind}


def _error(status: int, kind: str, reason: str) -> Document:
    return {"status": status, "error": {"type": kind, "reason": reason}}
