"""What a user can cause and put right. Anything else is a defect and keeps its traceback."""


class UserError(Exception):
    """Bad input. The message is one line: file, record, what was expected, what to do."""
