"""The command line."""

from infold.cli.app import app

__all__ = ["app"]
