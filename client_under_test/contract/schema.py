"""The contract as JSON Schema; `python -m client_under_test.contract.schema` prints it."""

from __future__ import annotations

import json
import sys

import msgspec

from client_under_test.contract import messages as contract


def schema() -> dict[str, object]:
    """Both directions (draft 2020-12): `$defs/Request` is asked, `$defs/Answer` is said."""
    (requests, answers), definitions = msgspec.json.schema_components(
        (contract.Request, contract.Answer), ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        # Docstrings are wrapped for the reader of the types; descriptions are not.
        if "description" in definition:
            definition["description"] = " ".join(definition["description"].split())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"xdspec adapter contract, version {contract.NEWEST}",
        "anyOf": [{"$ref": "#/$defs/Request"}, {"$ref": "#/$defs/Answer"}],
        "$defs": {"Request": requests, "Answer": answers, **definitions},
    }


def text() -> str:
    """Return the content of the schema file."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
