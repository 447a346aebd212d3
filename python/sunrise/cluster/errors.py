"""The error of a cluster that could not finish its tasks."""

from __future__ import annotations

__all__ = ["ClusterError"]


class ClusterError(RuntimeError):
    """A task of a cluster failed for good: the model is unchanged, and nothing is known of its rows.

    `__cause__` is the error of the cluster. Errors of the data (a label that is missing, a cell that is impossible) are
    ValueErrors as in memory.
    """
