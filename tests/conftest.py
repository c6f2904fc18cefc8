"""Shapes and types of the numerical packages are checked at run time in every test.

The doors in front of them (space, optimizer, minimize) check what users pass in themselves,
and are tested for it.
"""

import os
import signal
import tempfile

from jaxtyping import install_import_hook

install_import_hook(
    ["infold.gp", "infold.models", "infold.acquisition", "infold.methods"], "beartype.beartype"
)

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(
    prefix="infold-tests-"
)  # the command line keeps compiled programs

# Where a shell began the tests with "&" SIGINT is ignored, with nohup SIGHUP, and every program
# that a test begins and interrupts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

import jax  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def x64():
    """Formulas behind the package's doors follow the precision of their caller."""
    with jax.enable_x64(True):
        yield
