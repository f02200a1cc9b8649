"""The interface for PostgreSQL clients: any client, unchanged, sends SQL and gets noisy answers.

Comes in: version 3 of PostgreSQL's protocol on a socket. Goes out: its messages. `messages` knows bytes, `state` knows
what may follow what, `server` knows sockets. Describe never spends, Execute spends once, a re-fetch never re-draws.
"""
