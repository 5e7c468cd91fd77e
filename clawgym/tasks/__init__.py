"""From seeds to task drafts: instruction, input files as a plan, expected outputs."""
