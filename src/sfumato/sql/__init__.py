"""SQL: text becomes a tree with types and bounds, split into private releases and post-processing."""
