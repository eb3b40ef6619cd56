"""The errors for invalid input, and for what is refused now."""


class InputError(ValueError):
    """A value that a person typed, wrote in a file or passed to a function cannot be used.

    The message is one sentence with the offending value and the remedy.  The command line prints it
    and ends with status 2; a library caller can catch it as a ``ValueError``.
    """


class RefusalError(InputError):
    """A valid request that a server or a store refuses because of what it holds now, or cannot answer.

    The message is one sentence with the reason and the remedy.  The command line ends with status 1.
    """
