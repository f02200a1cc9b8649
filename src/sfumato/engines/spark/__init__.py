"""Spark: tables of a cluster or of files, read where they are. All SQL of its dialect is in this package."""
