"""Catalog: statements about tables and types, which tools send, translated for the embedded engine."""
