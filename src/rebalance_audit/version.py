"""The version of the package: in the run log of a lake, on pages, and in `rebalance-audit --version`."""

__version__ = "0.1.0"
