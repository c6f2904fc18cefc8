import logging
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from infold import compilation

PROGRAM = """
import sys
import jax
import numpy as np
import infold

misses = []


def listen(event, **details):
    if event.endswith("/cache_misses"):
        misses.append(event)


jax.monitoring.register_event_listener(listen)
infold.cache_compilations(sys.argv[1])
optimizer = infold.Optimizer([(0.0, 1.0)] * 6, method="mgpc", n_initial=3, seed=0)
for _ in range(5):
    x = optimizer.ask()
    optimizer.tell(x, float(np.sum(x)))
print(len(misses), repr(optimizer.points[-1].tolist()))
"""


def run(folder) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], capture_output=True, text=True, check=True
    )
    misses, _, point = done.stdout.strip().partition(" ")
    return int(misses), point


def test_a_second_process_compiles_nothing_and_a_damaged_entry_does_no_harm(tmp_path):
    folder = tmp_path / "new" / "cache"
    compiled, point = run(folder)
    assert compiled > 3
    assert folder.stat().st_mode & 0o077 == 0
    again, same = run(folder)
    assert (again, same) == (0, point)
    for entry in folder.glob("*-cache"):
        entry.write_bytes(entry.read_bytes()[:100])
    _, same = run(folder)
    assert same == point


def test_a_folder_that_cannot_be_made_is_gone_without(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        assert compilation.cache_compilations(tmp_path / "file" / "cache") is None
    assert "compiled programs are not kept" in caplog.text


@pytest.fixture
def no_folder_set():
    """Other tests of the same process may have told JAX of a folder."""
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)


def no_home(*args, **kwargs):
    raise RuntimeError("could not determine the home directory")


@pytest.mark.usefixtures("no_folder_set")
@pytest.mark.parametrize("answer", [no_home, lambda *args, **kwargs: Path("~/.cache/infold")])
def test_user_without_a_home_gets_a_warning_and_no_folder(answer, tmp_path, caplog, monkeypatch):
    """Versions of platformdirs differ in what they say about it."""
    monkeypatch.setattr(compilation.platformdirs, "user_cache_path", answer)
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert compilation.cache_compilations() is None
    assert "compiled programs are not kept" in caplog.text
    assert "home directory" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_what_the_user_told_jax_stays(tmp_path):
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    try:
        assert compilation.cache_compilations() == tmp_path
        assert jax.config.jax_compilation_cache_dir == str(tmp_path)
    finally:
        jax.config.update("jax_compilation_cache_dir", before)


def test_folders_differ_by_processor_and_follow_the_users_setting(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = compilation.default_folder()
    assert folder.parent == tmp_path / "infold"
    monkeypatch.setattr(compilation.platform, "machine", lambda: "vax")
    assert compilation.default_folder() != folder


def test_importing_infold_loads_nothing_heavy():
    heavy = "{'jax', 'scipy', 'matplotlib', 'optuna', 'torch', 'pandas'}"
    for module, extra in (
        ("infold", heavy),
        ("infold.optimizer", "{'matplotlib', 'optuna', 'torch', 'pandas'}"),
    ):
        program = f"import sys, {module}; print({extra} & set(sys.modules))"
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "set()"
