import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from tests.report.runs import told
from typer.testing import CliRunner

from infold.cli import app
from infold.report.watching import Watcher, server


@contextmanager
def served(path):
    with server(Watcher(path), 0) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_address[1]}/"
        finally:
            running.shutdown()
            thread.join()


def get(url: str, **headers) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
        return answer.read().decode()


def test_the_page_follows_the_file(tmp_path):
    path = tmp_path / "run <b>.json"
    with served(path) as url:
        assert "Waiting for" in get(url)
        assert "<b>" not in get(url)
        optimizer = told(2, method="random")
        optimizer.save(path)
        first = get(f"{url}version")
        text = get(url)
        assert f'name="follow" content="{first}"' in text
        assert "connect-src 'self'" in text
        assert get(url) == text
        optimizer.tell([0.5] * 5, 1.0)
        optimizer.save(path)
        assert get(f"{url}version") != first
        assert get(url) != text


def test_a_file_that_is_no_run_is_said_to_be_none(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("{}")
    with served(path) as url:
        assert "is not a run file of infold" in get(url)


def test_other_names_and_places_are_refused(tmp_path):
    with served(tmp_path / "run.json") as url:
        for target, headers, status in [
            (url, {"Host": "evil.example"}, 403),
            (f"{url}etc/passwd", {}, 404),
        ]:
            with pytest.raises(urllib.error.HTTPError) as refused:
                get(target, **headers)
            assert refused.value.code == status
            refused.value.close()


@pytest.mark.parametrize("port", ["-1", "65536", "99999999"])
def test_ports_out_of_range_are_refused(tmp_path, port):
    done = CliRunner().invoke(app, ["watch", str(tmp_path / "run.json"), "--port", port])
    assert done.exit_code == 2
    assert done.output == f"port = {port}: expected a number from 0 to 65535\n"


def test_a_port_in_use_is_named(tmp_path):
    path = tmp_path / "run.json"
    with served(path) as url:
        port = url.rstrip("/").rpartition(":")[2]
        done = CliRunner().invoke(app, ["watch", str(path), "--port", port])
    assert done.exit_code == 2
    assert f"port {port}: Address already in use; --port 0 finds a free one" in done.output
