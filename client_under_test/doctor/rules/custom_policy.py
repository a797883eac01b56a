"""The rule of a policy in the library's own registry, for adapters that state `custom_policy`."""

from __future__ import annotations

import json
from typing import Final

from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.check import check
from client_under_test.doctor.deadlines import ANSWER_DEADLINE
from client_under_test.doctor.requirements import Violation, require, require_status
from client_under_test.launching.policies import Updated

_POLICY: Final = "xdspec.TestPolicy"

# A little of everything that JSON has; numbers are doubles.
_CONFIG: Final = {"endpoint": 0.0, "kept": {"": [1.5, None, True, "é", {}, []], "more": 1e300}}


@check(
    "custom-policy",
    rule="a registered policy picks by its config, and reports each update as received",
    advice=(
        "register a policy of that name. It keeps the JSON that its parser receives, writes "
        "`policy_update` before it acts, and passes endpoint number `endpoint` to the library's "
        "pick_first. Set the `service_config` of channels"
    ),
    after="unary",
    needs=("custom_policy",),
)
async def _custom_policy(adapter: AdapterUnderCheck) -> None:
    await adapter.end()  # a policy is registered before the first channel is opened
    process = await adapter.process()
    policy = await process.register_policy(_POLICY, deadline=ANSWER_DEADLINE)
    service_config = json.dumps({"loadBalancingConfig": [{_POLICY: _CONFIG}]})
    channel = await adapter.channel(service_config=service_config)
    require(not policy.updates, "an update came before the suite asked the channel to connect")
    batch = await channel.start_calls([adapter.call()])
    (outcome,) = await batch.finished(deadline=adapter.deadline)
    require_status(outcome, "OK")
    require(bool(policy.updates), "no update came before the call ended")
    for update in policy.updates:
        given = _value(update)
        require(given == _CONFIG, f"config {update.config} instead of {json.dumps(_CONFIG)}")
        endpoints = ((adapter.backend.address,),)
        require(
            update.endpoints == endpoints,
            f"endpoints {json.dumps(update.endpoints)} instead of {json.dumps(endpoints)}",
        )


def _value(update: Updated) -> object:
    try:
        return update.value()
    except ValueError:
        raise Violation(f"the reported config is not JSON: {update.config}") from None


CHECKS: Final = (_custom_policy,)
