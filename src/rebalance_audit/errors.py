"""What can go wrong with a run for reasons that its user can mend. Each message is one sentence."""


class LakeError(Exception):
    """The lake cannot be used."""


class LakeNotReadable(LakeError):  # noqa: N818 - named for what the user is told
    """The lake, or a table in it, cannot be read."""


class LakeNotWritable(LakeError):  # noqa: N818 - as above
    """The lake, or a table in it, cannot be written; nothing was."""


class LakeBusy(LakeError):  # noqa: N818 - as above
    """Another run is at work on the same cluster of the lake."""


class SparkEnded(Exception):  # noqa: N818 - as above
    """Spark's Java process or a Python worker ended in the middle of the work: nothing that the program foresees."""


class BadRequest(ValueError):  # noqa: N818 - as above
    """An argument of a run makes no sense: a source, a regular expression, a window, a layer."""
