"""Expect the cookies of session affinity that responses set, and where they lead (A55, A60)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from conformance.judging.expectations.finding import Finding, WrongKind, calls_of, trouble_of
from conformance.judging.expectations.timing_sensitivity import CallsCanBeLate, OutcomesCanBeLate
from conformance.judging.observations import Call, Observation
from conformance.spec.oracles import session_cookie
from conformance.spec.oracles.session_cookie import FORMS, SetCookie, cookies_set

MOST_SHOWN = 3


class SetsCookies(OutcomesCanBeLate, frozen=True, tag="sets_cookies", kw_only=True):
    """Every call succeeds, and its response sets a cookie that names the endpoint.

    Clauses: A55-COOKIE-01, A55-COOKIE-02, A55-COOKIE-03, A55-COOKIE-04, A55-COOKIE-08,
    A55-COOKIE-11, A55-COOKIE-13, A55-CONF-04, A55-CONF-05, A55-CONF-07, A60-CLUSTER-01,
    A60-CLUSTER-05, A61-SESSION-01.
    """

    name: str
    attributes: dict[str, str] = msgspec.field(default_factory=dict)
    """Attributes that it has, by their names in lower case."""
    clusters: dict[str, str] = msgspec.field(default_factory=dict)
    """The name of the cluster of each endpoint, if the cookie must have it."""
    endpoints: tuple[tuple[str, ...], ...] = ()
    """The addresses of each endpoint, if the cookie must list them."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        attributes = "".join(f"; {key}={value}" for key, value in self.attributes.items())
        more = " and its cluster" if self.clusters else ""
        wanted = f"each response sets {self.name}{attributes}, which names the endpoint{more}"
        return _finding(calls, map(self._trouble, calls), wanted)

    def _trouble(self, call: Call) -> str:
        cookies = cookies_set(call.headers, self.name)
        if len(cookies) != 1:
            named = ", ".join(value for key, value in call.headers if key == "set-cookie")
            return f"{len(cookies)} such cookies ({named or 'no set-cookie header'})"
        return self._trouble_with(cookies[0], call.endpoint or "")

    def _trouble_with(self, cookie: SetCookie, endpoint: str) -> str:
        for key, value in self.attributes.items():
            if cookie.attributes.get(key) != value:
                return f"{key} {cookie.attributes.get(key, 'missing')}"
        text = session_cookie.content(cookie.value)
        if text is None:
            return f"{cookie.value!r}, which is no base64"
        addresses = session_cookie.addresses(text)
        if addresses[0] != endpoint:
            return f"the cookie of {text!r} from {endpoint}"
        if self.clusters and not session_cookie.names_cluster(text, self.clusters[endpoint]):
            return f"the cookie of {text!r} from cluster {self.clusters[endpoint]}"
        if self.endpoints and sorted(addresses) != sorted(self._addresses(endpoint)):
            return f"the cookie of {text!r} from one of {', '.join(self._addresses(endpoint))}"
        return ""

    def _addresses(self, address: str) -> tuple[str, ...]:
        return next((listed for listed in self.endpoints if address in listed), ())


class CookieForm(OutcomesCanBeLate, frozen=True, tag="cookie_form", kw_only=True):
    """Every call succeeds, and its cookie writes the name of the cluster in this form.

    Clauses: A60-CLUSTER-02.
    """

    name: str
    form: str
    clusters: dict[str, str]
    """The name of the cluster of each endpoint."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        wanted = f"{FORMS[self.form].format('NAME')} behind the semicolon in each cookie"
        return _finding(calls, map(self._trouble, calls), wanted)

    def _trouble(self, call: Call) -> str:
        name = FORMS[self.form].format(self.clusters[call.endpoint or ""])
        found = [
            session_cookie.cluster_text(session_cookie.content(cookie.value) or "")
            for cookie in cookies_set(call.headers, self.name)
        ]
        return "" if found == [name] else f"{found} from {call.endpoint}"


class SetsNoCookie(OutcomesCanBeLate, frozen=True, tag="sets_no_cookie"):
    """Every call succeeds, and no response sets a cookie of this name.

    Clauses: A55-COOKIE-09, A55-COOKIE-10, A55-COOKIE-12, A55-CONF-06, A60-CLUSTER-04.
    """

    name: str

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        calls = calls_of(seen)
        wanted = f"no response sets {self.name}"
        return _finding(calls, map(self._trouble, calls), wanted)

    def _trouble(self, call: Call) -> str:
        found = cookies_set(call.headers, self.name)
        return f"the cookie {found[0].value} from {call.endpoint}" if found else ""


class ServedInOrder(CallsCanBeLate, frozen=True, tag="served_in_order"):
    """Each call succeeds, at the endpoint of its position.

    Clauses: A55-COOKIE-05, A55-COOKIE-06, A55-COOKIE-08, A55-HOST-04, A60-CLUSTER-03.
    """

    addresses: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls.

        Raises:
            WrongKind: there are not as many calls as addresses.
        """
        calls = calls_of(seen)
        if len(calls) != len(self.addresses):
            raise WrongKind(f"{len(calls)} calls, and the endpoints of {len(self.addresses)}")
        wanted = f"each of {len(calls)} calls at the endpoint of its cookie"
        troubles = (
            "" if call.endpoint == address else f"a call at {call.endpoint} instead of {address}"
            for call, address in zip(calls, self.addresses, strict=True)
        )
        return _finding(calls, troubles, wanted)


def _finding(calls: tuple[Call, ...], troubles: Iterable[str], wanted: str) -> Finding:
    """Return whether all calls succeeded, and none has a trouble; empty: it has none."""
    if trouble := trouble_of(calls):
        return Finding(holds=False, wanted=wanted, saw=trouble)
    wrong = [*filter(None, troubles)]
    texts = [*dict.fromkeys(wrong)]
    more = f"; and {len(texts) - MOST_SHOWN} more" if len(texts) > MOST_SHOWN else ""
    shown = "; ".join(texts[:MOST_SHOWN]) + more
    saw = f"{len(wrong)} of {len(calls)} calls: {shown}" if wrong else f"all {len(calls)} calls so"
    return Finding(not wrong, wanted, saw, wrong=len(wrong) / len(calls))
