"""`python -m infold`."""

from infold.cli import app

app()
