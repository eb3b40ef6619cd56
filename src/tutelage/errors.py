"""The one error that people cause."""


class InputError(ValueError):
    """What a person typed, wrote or handed in cannot be used.

    The message is one sentence with the offending value and the remedy.  The command line prints it
    and ends with status 2; a library caller can catch it as a ``ValueError``.
    """
