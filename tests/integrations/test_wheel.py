"""The wheel in an empty environment, with each Python that we support and that is here."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, blocks

pytestmark = pytest.mark.integration
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSIONS = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]


@pytest.fixture(scope="session")
def distributions(tmp_path_factory) -> Path:
    """Folder with the wheel and the source distribution, made from a copy of what git knows."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, capture_output=True
    )
    return folder


def test_wheel_has_the_report_and_its_licence(distributions):
    (wheel,) = distributions.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("vega.min.js", "vega.LICENSE", "page.html", "page.js", "charts.js", "page.css"):
        assert f"infold/report/assets/{name}" in names
    assert "infold/py.typed" in names
    assert not [name for name in names if name.startswith(("tests", "docs", "examples"))]
    assert wheel.name.startswith(f"infold-{PROJECT['version']}-")
    assert wheel.stat().st_size < 1_500_000


def interpreter(version: str) -> str | None:
    """Return a Python of this version, from the path or from pyenv."""
    candidates = [shutil.which(f"python{version}")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates += [str(path) for path in pyenv.glob(f"{version}.*/bin/python")]
    for candidate in candidates:
        if candidate is None:
            continue
        found = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
        )
        if found.stdout.strip() == version:
            return candidate
    return None


@pytest.mark.parametrize("version", VERSIONS)
def test_readme_runs_with_nothing_but_the_wheel(distributions, version, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    (wheel,) = distributions.glob("*.whl")
    environment = tmp_path / "environment"
    subprocess.run([python, "-m", "venv", environment], check=True)
    inside = environment / "bin" / "python"
    subprocess.run([inside, "-m", "pip", "install", "--quiet", wheel], check=True)
    (tmp_path / "first.py").write_text(blocks("README.md", "python")[0].code)
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [inside, "-W", "error::DeprecationWarning:infold", tmp_path / "first.py"],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "vega" in (tmp_path / "report.html").read_text()
    shown = subprocess.run(
        [environment / "bin" / "infold", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == f"infold {PROJECT['version']}"
