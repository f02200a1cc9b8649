"""Release: relations become jobs with sensitivities, mechanisms, an event and a digest."""
