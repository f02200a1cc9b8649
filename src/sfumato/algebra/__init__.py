"""The algebra that plans are written in: expressions, relations, jobs and the bound on what one unit contributes."""
