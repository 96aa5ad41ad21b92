"""The part of SARIF 2.1.0 that warpfix writes, as a JSON schema: written from the standard's text, section by section.

Objects are closed, so that a property which the standard does not have at that place fails too.
"""

from __future__ import annotations

from typing import Any


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


_TEXT = {"type": "string", "minLength": 1}
_FROM_ONE = {"type": "integer", "minimum": 1}
_URI = {"type": "string", "pattern": r"^[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+$"}
_BAG = {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}}}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
# 3.11: text, or the id of a message string.
_MESSAGE = _object(["text"], text=_TEXT)
# 3.4: a uri, that may be relative to a base.
_ARTIFACT = _object(["uri"], uri=_URI, uriBaseId={"type": "string"})
# 3.30: text regions begin with startLine.
_REGION = _object(["startLine"], startLine=_FROM_ONE, startColumn=_FROM_ONE, endLine=_FROM_ONE, endColumn=_FROM_ONE)
# 3.28, 3.29, 3.33
_LOCATION = _object(
    ["physicalLocation"],
    physicalLocation=_object(["artifactLocation"], artifactLocation=_ARTIFACT, region=_REGION),
    logicalLocations={"type": "array", "items": _object(["name", "kind"], name=_TEXT, kind=_TEXT)},
)
# 3.27
_RESULT = _object(
    ["ruleId", "message", "locations"],
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=_LEVEL,
    message=_MESSAGE,
    locations={"type": "array", "items": _LOCATION},
    partialFingerprints={"type": "object", "minProperties": 1, "additionalProperties": _TEXT},
    properties=_BAG,
)
# 3.49
_RULE = _object(
    ["id"],
    id=_TEXT,
    name=_TEXT,
    shortDescription=_MESSAGE,
    fullDescription=_MESSAGE,
    help=_MESSAGE,
    defaultConfiguration=_object([], level=_LEVEL),
)
# 3.20, 3.58
_INVOCATION = _object(
    ["executionSuccessful"],
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications={
        "type": "array",
        "items": _object(["message"], level=_LEVEL, message=_MESSAGE, locations={"type": "array", "items": _LOCATION}),
    },
)
# 3.14, 3.18, 3.19
_RUN = _object(
    ["tool"],
    tool=_object(
        ["driver"],
        driver=_object(
            ["name"],
            name=_TEXT,
            semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+([-+].*)?$"},
            informationUri={"type": "string", "pattern": "^https://"},
            rules={"type": "array", "items": _RULE, "uniqueItems": True},
        ),
    ),
    originalUriBaseIds={
        "type": "object",
        "additionalProperties": _object(["uri"], uri={"allOf": [_URI, {"pattern": "^file:///.*/$"}]}),
    },
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations={"type": "array", "items": _INVOCATION},
    results={"type": "array", "items": _RESULT},
)
# 3.13
LOG = _object(
    ["version", "runs"], **{"$schema": _URI}, version={"const": "2.1.0"}, runs={"type": "array", "items": _RUN}
)
