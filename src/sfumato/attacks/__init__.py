"""The red team: attacks that anyone can run, before and after."""
