"""From settings to a plan, from a plan to a run folder, and from there to typed results."""
