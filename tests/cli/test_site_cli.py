"""flgames site: what a site's people see of their rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flgames.cli import app
from flgames.data.own.source import surveys_of
from flgames.engines.host import Host
from flgames.engines.sites import SiteData
from flgames.policy.games import plan_hash
from flgames.policy.plans import games_in
from flgames.policy.rules import SIMULATED_VARIABLE, SITE_VARIABLE, Rules
from flgames.runs.folder import RunFolder
from flgames.runs.resolve import resolve
from tests.own_data import table, three_hospitals


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["site", *arguments])
    return result.exit_code, result.output


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(SIMULATED_VARIABLE, raising=False)
    monkeypatch.delenv(SITE_VARIABLE, raising=False)
    table(tmp_path / "a.csv")
    (tmp_path / "site.toml").write_text('[data]\npath = "a.csv"\ntarget = "sick"\n')
    return tmp_path / "site.toml"


def test_what_would_be_told_is_printed(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, said = run("check", "--rules", str(rules))
    assert code == 0, said
    assert 'columns     ["age", "dose"]' in said
    assert "samples" in said
    assert '"min_batch_size": 8' in said
    monkeypatch.setenv(SITE_VARIABLE, str(rules))
    assert run("check") == (code, said)
    assert '["dose"]' in run("check", "--columns", "dose")[1]


def test_what_would_be_refused_is_said(rules: Path) -> None:
    code, said = run("check", "--rules", str(rules), "--target", "age")
    assert (code, "This site would refuse: 'age' can't be asked for here" in said) == (2, True)
    code, said = run("check")
    assert (code, "Where are the data? Say it by --data" in said) == (2, True)


def test_hashes_of_a_plan_are_those_that_a_site_makes(tmp_path: Path) -> None:
    """A game whose phi is trained before it is two games for a site."""
    data = str(three_hospitals(tmp_path / "scans"))
    settings = resolve({"data": data, "settle": "never", "phi_rounds": 2, "against": "none"})
    made = RunFolder.create(tmp_path / "run", settings)
    made.add_surveys(surveys_of(data, settings.roles))
    made.keep_plan()
    code, said = run("plan", str(made.path))
    assert code == 0, said
    games = games_in(made.path / "plan.json")
    assert len(games) == 2
    assert [line.split()[0] for line in said.splitlines()] == [plan_hash(game) for game in games]
    assert games[1] == made.plan.matches[0]
    assert run("plan", str(tmp_path))[0] == 2


def test_an_audit_log_is_summed_up(tmp_path: Path) -> None:
    host = Host("a", SiteData("a", rules=Rules()), tmp_path, rules=Rules())
    host.handle(b"noise")
    file = tmp_path / "a" / ".site" / "audit.jsonl"
    code, said = run("audit", str(file))
    assert code == 0, said
    assert "1 questions, 0 answered" in said
    assert "server: bad-question" in said
    file.write_text(file.read_text() + "{}\n")
    assert (run("audit", str(file))[0], run("audit", str(tmp_path))[0]) == (2, 2)
