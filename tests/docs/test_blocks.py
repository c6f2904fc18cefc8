"""The code blocks of README and documentation run; those that take long in tests/integrations."""

import os
import re
import shlex
import tomllib

import click
import pytest
import typer.main
from tests.docs.pages import PAGES, ROOT, blocks, commands, programs, run

from infold import Space
from infold.cli import app

SLOW = ("docs/learning.md", "docs/optuna.md")
"""Pages whose programs take longer: tests/integrations runs them."""

FAST = [(page, name) for page in PAGES if page not in SLOW for name in programs(page)]
RUN = "from infold import Optimizer\no = Optimizer([(0, 1)])\no.tell([0.5], 1.0)\n"


@pytest.fixture(scope="session")
def kept_programs(tmp_path_factory):
    """Let the pages share what JAX compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("compiled")))
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        patch.setenv("MPLBACKEND", "agg")
        yield


@pytest.mark.usefixtures("kept_programs")
@pytest.mark.parametrize(("page", "name"), FAST)
def test_python_blocks_run(page, name, tmp_path):
    code = programs(page)[name]
    if "run.jsonl" in code:
        code = f"{RUN}o.save('run.jsonl')\n{code}"
    run(code, tmp_path, name)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")])
def test_spaces_in_toml_can_be_read(page, tmp_path):
    for block in blocks(page, "toml"):
        path = tmp_path / "space.toml"
        path.write_text(block.code)
        assert Space.from_toml(path).dimension > 1


def parsed(arguments: list[str]) -> None:
    """Parse the arguments of `infold` without running the command."""
    group = typer.main.get_command(app)
    with click.Context(group) as context:
        name, command, rest = group.resolve_command(context, arguments)
        command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_shell_blocks_name_what_exists(page):
    """Commands parse, targets of make and extras exist, and so do scripts."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    makefile = (ROOT / "Makefile").read_text()
    for line in commands(page):
        for extra in re.findall(r"\[(\w+)\]", line):
            assert extra in project["optional-dependencies"], line
        words = shlex.split(line.split("&")[0])
        if words[0] == "infold":
            parsed(words[1:])
        elif words[0] == "make":
            for target in words[1:]:
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), line
        elif words[0] == "python" and "/" in words[1]:
            assert (ROOT / words[1]).exists(), line
        else:
            known = ("pip", "python", "sudo", "export", "optuna", "optuna-dashboard")
            assert words[0] in known, line


def test_links_between_pages_lead_somewhere():
    """Those of the site are checked by `make docs`; these are of README and other files beside."""
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text()
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
            assert os.path.exists(ROOT / link), f"{page}: {link}"


def test_anchors_of_the_readme_are_headings():
    for path, anchor in re.findall(r"\]\(([^)#]+)#([^)]+)\)", (ROOT / "README.md").read_text()):
        headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(), re.MULTILINE)
        slugs = [re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings]
        assert anchor in slugs, f"{path}#{anchor}"
