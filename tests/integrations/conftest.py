import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Address of a real server, started for the tests in a temporary folder.

    The folder is not one of pytest's: pytest closes its own to the server's user whenever another
    session of tests begins.
    """
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin")) or [
        Path(shutil.which("initdb") or "none").parent
    ]
    if not (found[-1] / "initdb").exists():
        pytest.fail("no PostgreSQL: on Debian or Ubuntu, apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="infold-postgres-"))
    as_user: list[str] = []
    if os.getuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"

    def server(program: str, *arguments: str) -> None:
        subprocess.run(
            [*as_user, found[-1] / program, *arguments], check=True, capture_output=True, cwd=folder
        )

    server("initdb", "-D", str(data), "-U", "infold", "--auth=trust")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    server("pg_ctl", "-D", str(data), "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield f"postgresql+psycopg2://infold@127.0.0.1:{port}/postgres"
    finally:
        server("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder)
