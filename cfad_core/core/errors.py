"""What can go wrong, in words a person can act on: what was expected, what came, what to do."""


class CfadError(Exception):
    """Base of every error that is raised on purpose.

    ``details`` is for whoever repairs the program; the message is for everybody.
    """

    details: str = ""


class InvalidDataError(CfadError):
    """The table, or the roles given to its columns, cannot be audited."""


class InvalidConfigError(CfadError):
    """A setting, or a piece of domain knowledge, makes no sense."""


class InvalidArtifactError(CfadError):
    """A saved audit or model is missing, damaged or of another version."""


class AuditCancelled(CfadError):  # noqa: N818 - not an error, but an end that was asked for
    """Long work was asked to stop, and did."""


class WorkerDied(CfadError):  # noqa: N818 - what happened, not what was wrong
    """A process that was computing ended without an answer.

    ``code`` is what it ended with, where it did: its exit code, or minus the number of a signal.
    """

    code: int | None = None
