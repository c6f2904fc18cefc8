import subprocess
import sys
from importlib.metadata import version

from typer.testing import CliRunner

import infold
from infold.cli import app


def test_the_version_is_that_of_the_package():
    assert infold.__version__ == version("infold")
    assert "__version__" in dir(infold)
    assert CliRunner().invoke(app, ["--version"]).output == f"infold {version('infold')}\n"


def test_importing_infold_does_not_look_for_the_version():
    code = "import sys, infold; assert 'importlib.metadata' not in sys.modules"
    subprocess.run([sys.executable, "-S", "-c", code], check=True, env={"PYTHONPATH": _source()})


def _source() -> str:
    return str(infold.__path__[0].rpartition("/")[0])
