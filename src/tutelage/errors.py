"""The error for invalid input."""


class InputError(ValueError):
    """A value that a person typed, wrote in a file or passed to a function cannot be used.

    The message is one sentence with the offending value and the remedy.  The command line prints it
    and ends with status 2; a library caller can catch it as a ``ValueError``.
    """
