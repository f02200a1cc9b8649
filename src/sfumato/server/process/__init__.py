"""Processes that serve: workers below one light supervisor, with reload and an orderly shutdown.

Comes in: an order (`order`), what to serve and where. Goes out: open doors. `station` is a gateway with its doors;
`worker` is a process with a station; `crew` starts one worker or several over one ledger and replaces those that die;
`control` is the socket by which `sfumato reload` is answered; `stay` waits for signals; `ending` is for the end.
"""
