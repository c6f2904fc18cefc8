"""The recipes of docs/optuna.md and the code of docs/learning.md run as they are written."""

import re
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

pytestmark = pytest.mark.integration
PAGE = (Path(__file__).parents[2] / "docs" / "optuna.md").read_text()


def recipe(folder: Path, heading: str) -> Path:
    """The Python code below a heading of the page, as a file."""
    code = rf"^## {heading}.*?^```python[^\n]*\n(.*?)^```"
    found = re.search(code, PAGE, re.MULTILINE | re.DOTALL)
    assert found, heading
    path = folder / "recipe.py"
    path.write_text(found[1])
    return path


def run(path: Path) -> str:
    return subprocess.run(
        [sys.executable, path],
        cwd=path.parent,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=600,
    ).stdout


def test_one_line(tmp_path):
    assert float(run(recipe(tmp_path, "One line")).split()[0]) < 3.0
    study = optuna.load_study(study_name="demo", storage=f"sqlite:///{tmp_path}/demo.db")
    assert len(study.trials) == 60


def test_postgresql(tmp_path, postgres, monkeypatch):
    monkeypatch.setenv("OPTUNA_STORAGE", postgres)
    subprocess.run(
        [Path(sys.executable).parent / "optuna", "create-study", "--study-name", "recipe"],
        check=True,
    )
    path = recipe(tmp_path, "Many workers: PostgreSQL")
    path.write_text(path.read_text().replace('"shared"', '"recipe"'))
    workers = [
        subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = [worker.communicate(timeout=300)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert any(text.startswith("40 trials, best value") for text in printed)


def test_ray_tune(tmp_path):
    assert float(run(recipe(tmp_path, "Ray Tune")).split()[-1]) < 5.0


def test_earlier_studies(tmp_path):
    run(recipe(tmp_path, "Earlier studies"))
    assert len(optuna.load_study(study_name="old", storage=f"sqlite:///{tmp_path}/old.db").trials)


def test_learning_page(tmp_path, monkeypatch):
    """All the code of docs/learning.md runs, one block after the other."""
    page = (Path(__file__).parents[2] / "docs" / "learning.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    path = tmp_path / "page.py"
    path.write_text("\n".join(blocks))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run(path)
    assert (tmp_path / "features.png").stat().st_size > 10_000
