"""Processes that serve: workers below one light supervisor, with reload and an orderly shutdown.

Comes in: what to serve and where (`serve_options`). Goes out: listening interfaces. `worker_services` is a gateway with
its interfaces; `worker` is a process with them; `supervisor` starts one worker or several over one ledger and replaces
those that die; `control` is the socket of `sfumato reload`; `signals` waits until somebody stops the server; `shutdown`
ends it in time.
"""
