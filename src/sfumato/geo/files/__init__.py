"""Files of points: CSV, GeoJSON, GPX, Parquet and GeoParquet, read and written a batch at a time."""

from sfumato.geo.files.columns import ColumnChoice, Columns
from sfumato.geo.files.streams import Batch, Obfuscated, obfuscate_file, open_points, read_positions

__all__ = ["Batch", "ColumnChoice", "Columns", "Obfuscated", "obfuscate_file", "open_points", "read_positions"]
