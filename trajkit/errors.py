"""Exceptions, one class for each thing the reader can fix.

Every message says what is wrong (with the value and the place), why it matters, and what to do.
"""

from __future__ import annotations


class TrajkitError(Exception):
    """Base of all errors that the kit raises on purpose; the command line prints them without a traceback."""


class ParameterError(TrajkitError):
    """A parameter is unknown, of the wrong type or out of range: fix the params file or the call."""


class MissingDataError(TrajkitError):
    """A file or folder is absent: fix the path, or put the named file where the message says."""


class DataContractError(TrajkitError):
    """Input data breaks the contract: fix the file, the column map or the declared box."""


class PrivacyAccountingError(TrajkitError):
    """Noise and guarantee do not belong together: nothing may be released from this run."""


class CheckpointError(TrajkitError):
    """A checkpoint is incomplete, damaged or belongs to other parameters."""


class RunFailedError(TrajkitError):
    """A run did not finish as it should; its folder keeps the notebook and the reason."""


class ResourceError(RunFailedError):
    """A run ended for want of memory, or something killed its process: with more of it, or elsewhere, it may succeed."""


class StoppedError(TrajkitError):
    """A run was asked to stop; where its training had begun, the same run goes on from its checkpoint."""


DISK_FULL = (
    "no space left on the disk for outputs: free some, or set TRAJKIT_OUTPUTS to a folder elsewhere, then give the same "
    "command again; finished runs are kept"
)
