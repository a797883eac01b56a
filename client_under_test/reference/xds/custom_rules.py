"""TypedStruct in load_balancing_policy: a policy by its name in the registry, as rules (A52)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.json_format import MessageToDict

from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.registry import Registered, is_known

PACKAGES = frozenset({"xds.type.v3", "udpa.type.v1"})


def is_typed_struct(package: str) -> bool:
    """A52: TypedStruct is the same in the package where it is and in that where it was.

    Clauses: A52-CUSTOM-03.
    """
    return package in PACKAGES


def policy_name(type_url: str) -> str:
    """A52: the name of the policy is the type's, whatever stands before it.

    Clauses: A52-CUSTOM-04, A52-CUSTOM-05 (our choice: without a slash it is the whole).
    """
    return type_url.rpartition("/")[2]


def has_policy(name: str, registered: Registered) -> bool:
    """A52: skip a policy that is not in the registry; the registry contains gRPC's own policies.

    Clauses: A52-CUSTOM-06, A52-CUSTOM-13.
    """
    return is_known(name, registered)


def policy_fields(struct: Any) -> dict[str, Any]:
    """A52: the config is the Struct.

    Clauses: A52-CUSTOM-01, A52-CUSTOM-02, A52-CUSTOM-07 (our choice: none is an empty one),
    A52-CUSTOM-10, A52-CUSTOM-11, A52-CUSTOM-16, A76-REQ-09.
    """
    return MessageToDict(struct)


def named_policy(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """A52: the policy balances all endpoints of a priority, whatever their localities.

    Clauses: A52-CUSTOM-12.
    """
    return {name: fields}


def policy_after_registry_error(_name: str) -> PolicyConfig | None:
    """A52: reject a Cluster if the registry rejects its policy.

    Clauses: A52-CUSTOM-08, A52-CUSTOM-14.
    """
    return None


@dataclass(frozen=True, kw_only=True)
class CustomPolicyRules:
    """The rules of policies that are configured by name."""

    registered_policies: Registered = field(default_factory=dict)
    """A52: no rule, but what the application has added to the registry of policies."""
    is_typed_struct: Callable[[str], bool] = is_typed_struct
    """Takes the package of the message's type."""
    policy_name: Callable[[str], str] = policy_name
    """Takes the type_url of a TypedStruct."""
    has_policy: Callable[[str, Registered], bool] = has_policy
    policy_fields: Callable[[Any], dict[str, Any]] = policy_fields
    """Takes the Struct; raises ValueError if it has no JSON form."""
    named_policy: Callable[[str, dict[str, Any]], dict[str, Any]] = named_policy
    """Takes the policy's name and config; returns the fields of a LoadBalancingConfig."""
    policy_after_registry_error: Callable[[str], PolicyConfig | None] = policy_after_registry_error
    """Takes the registry's error; returns the policy that the Cluster uses instead, or None."""
