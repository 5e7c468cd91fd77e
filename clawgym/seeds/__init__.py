"""Seeds: what a task starts from. A persona with a scenario and operations, or one main skill with skills that support it."""
