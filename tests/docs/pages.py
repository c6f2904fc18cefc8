"""The pages of the documentation, and the code in them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
)
_FENCE = re.compile(r"^```(\w*)([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of code."""

    language: str
    """Empty where the page does not say."""
    title: str
    """Name of the file that the page shows; empty where it shows none."""
    code: str


def blocks(page: str, *languages: str) -> list[Block]:
    """Return the blocks of a page in these languages."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = []
    for language, rest, code in _FENCE.findall(text):
        title = re.search(r'title="([^"]+)"', rest)
        if language in languages and "--8<--" not in code:
            found.append(Block(language, title[1] if title else "", code))
    return found


def programs(page: str) -> dict[str, str]:
    """Return the Python programs of a page by name.

    Blocks with a title are files of their own. The others continue each other, as they do for the
    reader.
    """
    found: dict[str, str] = {}
    for block in blocks(page, "python"):
        name = block.title or "page.py"
        found[name] = found.get(name, "") + block.code + "\n"
    return found


def run(code: str, folder: Path, name: str = "page.py", timeout: float = 300.0) -> str:
    """Run a program in a folder; return what it prints."""
    path = folder / name
    path.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, path], cwd=folder, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def commands(page: str) -> list[str]:
    """Return the shell commands of a page, comments left out.

    A block that does not say its language may show what a program prints: of such a block only
    lines count that call one of ours.
    """
    found = []
    for block in blocks(page, "sh", ""):
        joined = block.code.replace("\\\n", " ")
        for line in joined.splitlines():
            command = re.sub(r"(^|\s+)#.*", "", line).strip()
            if command and (block.language or command.startswith(("infold ", "make ", "pip "))):
                found.append(command)
    return found
