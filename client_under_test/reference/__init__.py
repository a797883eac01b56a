"""The reference client: xDS gRPC in plain Python, each rule of A37, A42 and A52 on its own.

It speaks the adapter contract as every client under test does, and shares no code with the suite's
oracles. `policies` holds the load-balancing policies as pure state machines, `xds` the protocol,
`clusters` what makes the one of the other; `transport`, `resolving` and `channel` are shells with
sockets and timers, `adapter` one with the process's pipes. `editions` says which rules hold.
"""
