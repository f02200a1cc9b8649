"""The doors: where people and programs come in. Today there is one, the command line; Python needs none."""
