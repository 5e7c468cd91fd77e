"""The input files of the tasks: from a plan (path, type, spec) to their content."""
