"""Interfaces on ports: PostgreSQL clients, HTTP and the console, and the processes that serve them."""
