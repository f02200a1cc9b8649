"""The interface for PostgreSQL clients: any client, unchanged, sends SQL and gets noisy answers.

Comes in: version 3 of PostgreSQL's protocol on a socket. Goes out: its messages. `messages` reads and writes bytes,
`protocol_state` is what may follow what, `server` has the sockets. Describe never spends, Execute spends once, a re-
fetch never re-draws.
"""
