"""Read: text becomes a tree of known kinds of nodes, and statements about the catalog become their own."""
