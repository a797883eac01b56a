"""Mutants of the clauses in cookies.toml."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.session_affinity import (
    cookie_must_be_set,
    cookie_path_matches,
    cookies_sent,
    set_cookie,
)

VARIANT: Final = "session-affinity"


only_replaced = Mutant(
    clause="A55-COOKIE-01",
    broken="a response sets a cookie only in place of another host's",
    rules={"cookie_must_be_set": lambda sent, used: sent is not None and sent != used},
    variant=VARIANT,
)


any_cookie_counts = Mutant(
    clause="A55-COOKIE-01",
    broken="the response to a request with cookies of other names sets none",
    rules={
        "cookies_sent": lambda metadata: [
            ("xdspec-affinity", value) for _, value in cookies_sent(metadata)
        ],
        "ignores_invalid_cookie": False,
    },
    variant=VARIANT,
)


fixed_name = Mutant(
    clause="A55-COOKIE-02",
    broken="the cookie is called session, whatever the config says",
    rules={"set_cookie": lambda cookie, value: set_cookie(replace(cookie, name="session"), value)},
    variant=VARIANT,
)


without_path = Mutant(
    clause="A55-COOKIE-03",
    broken="the cookie has no path",
    rules={"set_cookie": lambda cookie, value: set_cookie(replace(cookie, path=""), value)},
    variant=VARIANT,
)


root_path = Mutant(
    clause="A55-COOKIE-03",
    broken="the path of the cookie is the root",
    rules={"set_cookie": lambda cookie, value: set_cookie(replace(cookie, path="/"), value)},
    variant=VARIANT,
)


without_ttl = Mutant(
    clause="A55-COOKIE-04",
    broken="the cookie has no ttl",
    rules={"set_cookie": lambda cookie, value: set_cookie(replace(cookie, ttl=0), value)},
    variant=VARIANT,
)


ttl_rounded_up = Mutant(
    clause="A55-COOKIE-04",
    broken="the ttl of the cookie is a second longer",
    rules={
        "set_cookie": lambda cookie, value: set_cookie(
            replace(cookie, ttl=cookie.ttl and cookie.ttl + 1), value
        )
    },
    variant=VARIANT,
)


balanced_anyway = Mutant(
    clause="A55-COOKIE-05",
    broken="the LB policy picks for requests with a cookie, too",
    rules={"choose_host": lambda _found: None},
    variant=VARIANT,
)


first_header_only = Mutant(
    clause="A55-COOKIE-06",
    broken="only the first cookie header is read",
    rules={
        "cookies_sent": lambda metadata: cookies_sent(
            tuple(pair for pair in metadata if pair[0] == "cookie")[:1]
        )
    },
    variant=VARIANT,
)


last_header_only = Mutant(
    clause="A55-COOKIE-06",
    broken="only the last cookie header is read",
    rules={
        "cookies_sent": lambda metadata: cookies_sent(
            tuple(pair for pair in metadata if pair[0] == "cookie")[-1:]
        )
    },
    variant=VARIANT,
)


first_cookie_only = Mutant(
    clause="A55-COOKIE-06",
    broken="only the first cookie is read",
    rules={"cookies_sent": lambda metadata: cookies_sent(metadata)[:1]},
    variant=VARIANT,
)


last_of_the_name = Mutant(
    clause="A55-COOKIE-07",
    broken="the last of several cookies of the name is used",
    rules={"choose_cookie": lambda values: values[-1] if values else None},
    variant=VARIANT,
)


none_of_several = Mutant(
    clause="A55-COOKIE-07",
    broken="several cookies of the name count as none",
    rules={"choose_cookie": lambda values: values[0] if len(values) == 1 else None},
    variant=VARIANT,
)


same_path_only = Mutant(
    clause="A55-COOKIE-08",
    broken="a path of the cookie matches the same path only",
    rules={"cookie_path_matches": lambda path, of_cookie: of_cookie in {"", path}},
    variant=VARIANT,
)


not_the_same_path = Mutant(
    clause="A55-COOKIE-08",
    broken="the path of the cookie must be shorter than that of the request",
    rules={
        "cookie_path_matches": lambda path, of_cookie: (
            path != of_cookie and cookie_path_matches(path, of_cookie)
        )
    },
    variant=VARIANT,
)


any_path = Mutant(
    clause="A55-COOKIE-09",
    broken="the path of the cookie is ignored",
    rules={"cookie_path_matches": lambda _path, _of_cookie: True},
    variant=VARIANT,
)


path_below = Mutant(
    clause="A55-COOKIE-09",
    broken="requests above the path of the cookie match, too",
    rules={
        "cookie_path_matches": lambda path, of_cookie: (
            cookie_path_matches(path, of_cookie) or cookie_path_matches(of_cookie, path)
        )
    },
    variant=VARIANT,
)


any_case = Mutant(
    clause="A55-COOKIE-09",
    broken="upper and lower case of the path of the cookie do not count",
    rules={
        "cookie_path_matches": lambda path, of_cookie: cookie_path_matches(
            path.lower(), of_cookie.lower()
        )
    },
    variant=VARIANT,
)


any_prefix = Mutant(
    clause="A55-COOKIE-10",
    broken="the path of the cookie may end within a segment",
    rules={"cookie_path_matches": lambda path, of_cookie: path.startswith(of_cookie)},
    variant=VARIANT,
)


passed_through = Mutant(
    clause="A55-COOKIE-11",
    broken="the response to a request with a malformed cookie sets none",
    rules={"ignores_invalid_cookie": False},
    variant=VARIANT,
)


always_set = Mutant(
    clause="A55-COOKIE-12",
    broken="each response sets a cookie",
    rules={"cookie_must_be_set": lambda _sent, _used: True},
    variant=VARIANT,
)


never_replaced = Mutant(
    clause="A55-COOKIE-13",
    broken="a response sets a cookie only if the request has none",
    rules={
        "cookie_must_be_set": lambda sent, used: sent is None and cookie_must_be_set(sent, used)
    },
    variant=VARIANT,
)
