"""`pytest --simt`: a project's tests, with the SIMT machine as numba.cuda and launches watched.

One line switches it on: `addopts = ["--simt"]` or `simt = true` in pytest's configuration. A test
in whose launches an error is found fails, and its report says which; all findings are told again
at the end. Under pytest-xdist they come from the workers with the tests' reports.
"""

import io
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pytest

from numba_simt.command.stand_in import standing_in
from numba_simt.command.surroundings import TARGET, choose_target
from numba_simt.reports import json_report, sarif, terminal
from numba_simt.watching.findings import Finding
from numba_simt.watching.session import WATCHED, KernelRecord, Refusal, Session
from numba_simt.watching.silencing import Rule, in_vain, read_rules
from numba_simt.watching.summary import Summary, summarise

KEY = "numba_simt"  # of what a test's report carries
_FILES = {"simt_json": json_report.as_json, "simt_sarif": sarif.as_sarif}
_stack = pytest.StashKey[ExitStack]()
_all = pytest.StashKey[Session]()
_told = pytest.StashKey[int]()  # how many findings a test's reports have so far
_rules = pytest.StashKey[list[Rule]]()


class HazardFound(Exception):
    """An error in a test's launches, for which the test fails."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """--simt, and what steers it."""
    group = parser.getgroup("simt", "numba-simt: CUDA kernels without a GPU, searched for races")
    what = "run kernels of numba.cuda on the SIMT machine; an error in a test's launches fails it"
    parser.addini("simt", f"as --simt: {what}", type="bool", default=False)
    group.addoption("--simt", action="store_true", help=what)
    group.addoption("--simt-strict", action="store_true", help="warnings fail a test, too")
    watch = "watch the first N launches of each kernel and shape in each test"
    group.addoption("--simt-cc", metavar="X.Y", help="compute capability of the GPU that is meant")
    group.addoption("--simt-launches", metavar="N", type=int, default=WATCHED, help=watch)
    for name, text in (
        ("ignore", "findings to silence, one a line"),
        ("json", "write all findings as JSON"),
        ("sarif", "write all findings as SARIF 2.1.0"),
    ):
        group.addoption(f"--simt-{name}", metavar="FILE", help=text)


def _wanted(config: pytest.Config) -> bool:
    return bool(getattr(config.known_args_namespace, "simt", False) or config.getini("simt"))


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """The machine is there before any of the project's modules is imported."""
    _begin(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """The same where a conftest.py names this plugin; and the file of rules is read."""
    _begin(config)
    if _stack in config.stash:
        path = config.getoption("simt_ignore")
        config.stash[_stack].callback(_restore, {name: os.environ.get(name) for name in TARGET})
        try:
            choose_target(config.getoption("simt_cc"), config.getoption("simt_strict"))
            config.stash[_rules] = read_rules(path) if path else []
        except (OSError, ValueError) as error:
            raise pytest.UsageError(str(error)) from None


def _begin(config: pytest.Config) -> None:
    if _wanted(config) and _stack not in config.stash:
        stack = config.stash[_stack] = ExitStack()
        stack.enter_context(standing_in())
        config.stash[_all] = Session()


def _restore(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def pytest_unconfigure(config: pytest.Config) -> None:
    """numba.cuda is Numba's again."""
    if stack := config.stash.get(_stack, None):
        stack.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Looks on from a test's set-up to its tear-down."""
    if _stack not in item.config.stash:
        return (yield)
    item.stash[_all] = Session(item.config.getoption("simt_launches"))
    with item.stash[_all].looking_on():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fails a test that passed, where its launches show an error; the report says which."""
    return (yield from _judged(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """The same for launches of its tear-down."""
    return (yield from _judged(item))


def _judged(item: pytest.Item) -> Iterator[None]:
    """Runs a phase; HazardFound where it passed, and an error is found that was not told yet."""
    told = item.stash.get(_told, 0)
    summary = None
    try:
        done = yield
    finally:
        if _all in item.stash:
            summary = _summary(item.config, item.stash[_all], item.nodeid)
            item.stash[_told] = len(summary.findings)
    if summary and summary.failed and len(summary.findings) > told:
        raise HazardFound(_text(summary))
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo
) -> Iterator[pytest.TestReport]:
    """What a test's launches showed goes with its last report, also from a worker of xdist."""
    report = yield
    if _all not in item.stash:
        return report
    session = item.stash[_all]
    if call.excinfo and call.excinfo.errisinstance(HazardFound):
        report.longrepr = str(call.excinfo.value)
    elif call.when == "call" and session.findings:
        report.sections.append(("numba-simt", _text(_summary(item.config, session, item.nodeid))))
    if call.when == "teardown" and (session.kernels or session.refusals):
        report.user_properties.append((KEY, _packed(session)))
    return report


def _packed(session: Session) -> str:
    """Findings, refusals and counts of launches, as JSON."""
    kernels = [
        [one.name, one.file, one.line, one.watched, one.plain] for one in session.kernels.values()
    ]
    return json.dumps(
        {
            "findings": [asdict(one) for one in session.findings.values()],
            "refusals": [asdict(one) for one in session.refusals.values()],
            "kernels": kernels,
        }
    )


def _unpack(text: str, into: Session) -> None:
    """Adds what a test's report carries."""
    told = json.loads(text)
    for one in told["findings"]:
        into.add(Finding(**one))
    for one in told["refusals"]:
        refusal = Refusal(**one)
        into.refusals.setdefault((refusal.file, refusal.line, refusal.sentence), refusal)
    for name, file, line, watched, plain in told["kernels"]:
        record = into.kernels.setdefault((name, file, line), KernelRecord(name, file, line))
        record.watched += watched
        record.plain += plain


def _summary(config: pytest.Config, session: Session, program: str) -> Summary:
    strict = config.getoption("simt_strict")
    return summarise(session, program, rules=config.stash[_rules], strict=strict)


def _text(summary: Summary) -> str:
    stream = io.StringIO()
    terminal.write(summary, stream)
    return stream.getvalue().strip()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Each finding in a line, with the numbers; and the files that were asked for."""
    if _stack not in config.stash:
        return
    session = config.stash[_all]
    for reports in terminalreporter.stats.values():
        for report in reports:
            for key, text in getattr(report, "user_properties", ()):
                if key == KEY and getattr(report, "when", "") == "teardown":
                    _unpack(text, session)
    summary = _summary(config, session, "pytest")
    summary.notes += in_vain(session.findings.values(), config.stash[_rules])
    terminalreporter.section("numba-simt")
    for line in terminal.brief(summary):
        terminalreporter.write_line(line)
    for option, written in _FILES.items():
        if path := config.getoption(option):
            Path(path).write_text(written(summary), "utf-8")
            terminalreporter.write_line(f"{path} written.")
