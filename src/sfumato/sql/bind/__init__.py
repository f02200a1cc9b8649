"""Bind: names become columns of the policy, and a SELECT becomes a tree of relations."""
