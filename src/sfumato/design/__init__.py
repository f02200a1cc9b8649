"""The design room: what a channel tells, exactly. So far: possible worlds and their posteriors."""
