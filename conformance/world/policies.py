"""A policy that the suite registers in the client's own registry, and what its instances are given.

Scenarios that use it need the capability `custom_policy`.
"""

from __future__ import annotations

from typing import Final

from client_under_test.launching.policies import RegisteredPolicy
from client_under_test.launching.process import ClientProcess
from conformance import timing
from conformance.judging.expectations import Expectation, fits
from conformance.judging.observations import PolicyUpdate, PolicyUpdates
from conformance.world import waits
from conformance.world.pending_calls import CallDriver

TEST_POLICY: Final = "xdspec.TestPolicy"


class Policies:
    """Registers a custom LB policy on request: most scenarios need none.

    Args:
        process: the client's process, which has not opened a channel.
        hands: a person's driver, which decides whether that process may register the policy.
    """

    def __init__(self, process: ClientProcess, driver: CallDriver | None = None) -> None:
        self._process = process
        self._hands = driver
        self._registered: RegisteredPolicy | None = None

    async def register(self) -> None:
        """Register the policy in the client's registry."""
        if self._hands is not None:
            await self._hands.leave_to_adapter(f"the policy {TEST_POLICY} in its registry")
        self._registered = await self._process.register_policy(
            TEST_POLICY, deadline=timing.ADAPTER_REPLY
        )

    @property
    def given(self) -> PolicyUpdates:
        """What its instances were given."""
        assert self._registered is not None, "register comes first"
        return PolicyUpdates(
            tuple(
                PolicyUpdate(update.instance, update.config, update.endpoints)
                for update in self._registered.updates
            )
        )

    async def until(self, *ways: Expectation) -> PolicyUpdates:
        """Wait until the updates match one of these, or APPLY has passed; return them."""
        assert self._registered is not None, "register comes first"

        def is_there() -> bool:
            return any(fits(expectation, self.given) for expectation in ways)

        if not is_there():
            come = self._registered.updated(
                lambda _: is_there(),
                deadline=timing.APPLY,
                since=len(self._registered.updates),
            )
            await waits.watched(come)
        return self.given
