from __future__ import annotations

from client_under_test.doctor.exchange import LINES, Exchange


def test_a_line_counts_when_it_is_complete() -> None:
    exchange = Exchange()
    exchange.sent(b'{"type":"hello"}\n')
    exchange.received(b'{"type": "he')
    assert list(exchange.lines) == ['> {"type":"hello"}']
    exchange.received(b'llo"}\n{"type": "done"}\n{')
    assert list(exchange.lines[1:]) == ['< {"type": "hello"}', '< {"type": "done"}']
    exchange.clear()
    assert list(exchange.lines) == []
    exchange.received(b"}\n")
    assert list(exchange.lines) == ["< {}"]


def test_only_the_last_lines_are_kept() -> None:
    exchange = Exchange()
    for number in range(LINES + 3):
        exchange.sent(b"%d\n" % number)
    assert exchange.lines == tuple(f"> {number}" for number in range(3, LINES + 3))


def test_a_long_line_keeps_its_start_and_its_end() -> None:
    exchange = Exchange()
    exchange.sent(b'{"type":"start_calls",' + b"x" * 1_000_000 + b'"concurrency":1,"pace":null}\n')
    (line,) = exchange.lines
    assert line.startswith('> {"type":"start_calls",x')
    assert line.endswith('x"concurrency":1,"pace":null}')
    assert len(line) < 200


def test_the_fields_of_a_long_call_are_kept() -> None:
    call = (
        '{"id":"call-20","path":"/xdspec.Doctor/unary","metadata":[["xdspec-call","call-20"],'
        '["xdspec-do","sleep-5000"]],"deadline":200000,"wait_for_ready":false,"kept_open":false}'
    )
    exchange = Exchange()
    for calls in (call, ",".join([call] * 3)):
        line = f'{{"type":"start_calls","id":12,"channel":11,"calls":[{calls}],'
        exchange.sent(f'{line}"concurrency":1,"pace":null}}\n'.encode())
    single, many = exchange.lines
    assert '"path":"/…","metadata":[…],"deadline":200000,"wait_for_ready":false' in single
    assert single.endswith('"kept_open":false}],"concurrency":1,"pace":null}')
    assert '"deadline":200000' in many
    assert many.endswith('"concurrency":1,"pace":null}')


def test_bytes_that_are_not_text_are_escaped() -> None:
    exchange = Exchange()
    exchange.received(b"\xff\n")
    assert list(exchange.lines) == ["< \\xff"]
