"""Errors that end the command with one clear line and an exit status of warpfix's own.

Exit statuses are a contract: 0 nothing to report or done; 1 findings, a failed check or a verdict that is not good;
2 the call or the environment is wrong.
"""

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_ERROR = 2


class WarpfixError(Exception):
    """The call or the environment is wrong: printed as one line on stderr, exit status 2.

    Raised by any layer; only the command line catches it. The message says what to do, in one line.
    """

    exit_status = EXIT_ERROR
