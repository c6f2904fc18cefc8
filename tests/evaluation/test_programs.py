"""Programs as the objective: what they print, what they leave running, when they are late."""

import os
import signal
import time

import psutil
import pytest

from infold.evaluation.program import Command
from infold.evaluation.workers import open_workers

POINT = {"a": 0.5, "n": 3, "kind": "good"}


def run(command: str, timeout: float | None = None, workers: int = 1):
    """Return the outcome of one evaluation, and how long it took."""
    start = time.monotonic()
    with open_workers(Command(command, timeout), workers, None) as pool:
        (future,) = pool.wait([pool.submit(POINT)])
        return future.result(), time.monotonic() - start


def children_named(text: str) -> list[psutil.Process]:
    """Return the processes below this one whose command line has the text."""
    children = psutil.Process().children(recursive=True)
    return [child for child in children if text in " ".join(child.cmdline())]


def wait_for_end(pid: int, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "it is still running"
        time.sleep(0.01)


@pytest.mark.parametrize("output", [r"\377 \n1.5\n", r"log\n\303(\n1.5\n\n", r"1.5"])
def test_value_is_read_whatever_bytes_surround_it(output):
    outcome, _ = run(f"printf '{output}'")
    assert outcome.value == 1.5


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("sh -c 'echo no licence >&2; exit 3'", "sh ended with status 3: no licence"),
        ("sh -c 'echo 1; exit 3'", "sh ended with status 3: it wrote nothing to standard error"),
        (r"sh -c 'printf \\377 >&2; exit 3'", "sh ended with status 3: \ufffd"),
        ("true", "true printed nothing: expected a number on the last line"),
        ("echo many", "the last line of echo is 'many': expected a number"),
        ("echo 0.8, -0.1", "with spaces between them and no commas"),
        ("echo nan", "the value is nan"),
    ],
)
def test_program_without_a_value_is_a_failure_that_says_why(command, error):
    outcome, _ = run(command)
    assert outcome.value is None
    assert error in outcome.error


def test_large_output_is_read_at_its_end():
    outcome, _ = run("sh -c 'head -c 3000000 /dev/zero; echo; echo {a}'")
    assert outcome.value == 0.5


def test_program_is_not_waited_for_once_it_has_ended(tmp_path):
    """A child that holds its output does not matter, and ends with the session."""
    outcome, seconds = run(f"sh -c 'sleep 60 & echo $! > {tmp_path}/pid; echo 1.5'")
    assert outcome.value == 1.5
    assert seconds < 5.0
    wait_for_end(int((tmp_path / "pid").read_text()))


def test_timeout_is_kept_when_a_descendant_left_the_session(tmp_path):
    outcome, seconds = run(
        f"sh -c 'setsid sh -c \"echo \\$\\$ > {tmp_path}/pid; sleep 20\" & sleep 60'", timeout=0.5
    )
    assert outcome.error == "TimeoutError: sh timed out after 0.5 s"
    assert outcome.seconds >= 0.5
    assert seconds < 5.0
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_late_program_ends_with_what_it_started_in_groups_of_their_own(tmp_path):
    """The program `timeout` makes itself a process group, but stays in the session."""
    run(f"sh -c 'timeout 60 sh -c \"echo \\$\\$ > {tmp_path}/pid; sleep 60\"; echo 1'", timeout=0.7)
    wait_for_end(int((tmp_path / "pid").read_text()))


def test_programs_run_beside_each_other_and_end_at_once_when_nobody_wants_them():
    start = time.monotonic()
    with open_workers(Command("sh -c 'sleep 0.5; echo {a}'"), 3, None) as pool:
        waiting = [pool.submit(POINT) for _ in range(3)]
        futures = list(waiting)
        while waiting:
            for future in pool.wait(waiting):
                waiting.remove(future)
        assert time.monotonic() - start < 1.4
        assert [future.result().value for future in futures] == [0.5] * 3
    start = time.monotonic()
    with open_workers(Command("sleep 60"), 3, None) as pool:
        for _ in range(3):
            pool.submit(POINT)
        time.sleep(0.2)
        children = children_named("sleep")
    assert time.monotonic() - start < 5.0
    assert len(children) >= 3
    for child in children:
        wait_for_end(child.pid)


def test_program_reads_nothing_from_the_terminal():
    assert run("sh -c 'cat; echo 1'")[0].value == 1.0


def test_watcher_that_is_killed_is_replaced():
    with open_workers(Command("echo {a}"), 1, None) as pool:
        for _ in range(3):
            (future,) = pool.wait([pool.submit(POINT)])
            assert future.result().value == 0.5
            for child in children_named("sessions.py"):
                child.kill()
                child.wait()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "command is empty"),
        ("echo {b}", "command has {b}: expected one of a, n, kind"),
        ("echo {}", "command has {}: expected one of a, n, kind"),
        ("echo {0}", "command has {0}: expected one of a, n, kind"),
        ("echo {a.real}", "command has {a.real}: expected one of a, n, kind"),
        ("echo {a", r"command = 'echo {a': expected '}' before end of string in '{a'; write {{"),
        ("echo a}", "command = 'echo a}': Single '}' encountered"),
        ("echo {kind:.3f}", "command has '{kind:.3f}', which cannot be filled in"),
        ("./no-such-program {a}", "there is no program './no-such-program' that can be run"),
        ("no-such-program {a}", "there is no program 'no-such-program' that can be run"),
        ("/tmp {a}", "there is no program '/tmp' that can be run"),
        ("echo '", "No closing quotation"),
    ],
)
def test_commands_that_cannot_run_are_found_out_beforehand(command, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011  (the message has special characters)
        Command(command).check(POINT)
    assert message in str(error.value)


@pytest.mark.parametrize("timeout", [-1.0, 0.0, float("nan"), "soon", True])
def test_timeouts_that_are_none_are_refused(timeout):
    with pytest.raises(ValueError, match=r"timeout = .*: expected a number above 0"):
        Command("echo 1", timeout)


def test_parameters_need_not_be_identifiers():
    command = Command("echo {learning-rate}")
    command.check({"learning-rate": 0.1})
    assert command({"learning-rate": 0.1}) == 0.1


def test_names_of_every_kind_are_filled_in():
    point = {"model.rate": 0.25, "a b": 3, "w[0]": "x"}
    command = Command("echo {model.rate:.1f} '{a b}' {w[0]!r}")
    command.check(point)
    assert command.words(point) == ["echo", "0.2", "3", "'x'"]
