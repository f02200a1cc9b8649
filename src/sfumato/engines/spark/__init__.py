"""Spark: tables of a cluster or of files, read where they are. All SQL of its dialect is in this package."""

from __future__ import annotations

from sfumato.engines.spark.engine import Spark

__all__ = ["Spark"]
