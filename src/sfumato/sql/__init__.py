"""SQL: text becomes a tree of known kinds, gets types and bounds, and is cut into a private part and a public one."""
