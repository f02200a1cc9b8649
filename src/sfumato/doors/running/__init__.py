"""Running it: the doors on ports, in one process or several, with reload and an orderly end.

Comes in: an order (`order`), what to serve and where. Goes out: open doors. `station` is one process with its own
gateway and doors; `crew` starts several of them over one ledger and replaces those that die; `worker` is what each of
these runs; `control` is the socket by which `sfumato reload` is answered; `stay` waits for signals.
"""
