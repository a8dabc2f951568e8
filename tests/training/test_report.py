"""A run as a page, and as an agent's file."""

import json
import re

import numpy as np
import pytest

from nap_env.agents.network import Training, load_network, num_weights, widths_of
from nap_env.observation import LAYOUT_VERSION, layout
from nap_env.presets import resolve
from training import export, report
from training.checkpoint import save_weights
from training.config import Config


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "a <run>"
    folder.mkdir()
    Config(seed=7).save(folder / "config.yaml")
    (folder / "versions.json").write_text('{"numpy": "2.0"}\n')
    lines = [
        {
            "decisions": 1000.0 * k,
            "charts/deals": 100.0 * k,
            "charts/decisions_per_second": 5.0,
            "nap/bid_nap": 0.1 * k,
            "nap/entropy_auction": 1 / k,
            **({"eval/passer": 3.0 * k, "eval/passer_ci95": 1.0} if k % 2 else {}),
        }
        for k in range(1, 6)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_page_holds_curves_and_tables(run, capsys):
    row = {"against": "passer", "format": "1-vs-rest", "policy": "argmax", "sets": 20}
    row |= {"chips_per_100": 12.34, "ci95": [10.0, 14.0]}
    (run / "results.json").write_text(json.dumps({"results": [row]}))
    report.main([str(run)])
    assert capsys.readouterr().out == f"{run / 'report.html'}\n"
    page = (run / "report.html").read_text()
    assert "5,000 decisions in 500 deals, 5 updates" in page
    assert "+12.3" in page and "+10.0 to +14.0" in page
    assert "<th>seed</th><td>7</td>" in page and "<th>numpy</th><td>2.0</td>" in page
    assert "a &lt;run&gt;" in page and "<run>" not in page
    assert re.findall(r'alt="(.*?)"', page) == [
        "Strength on held-out deals", "Contracts", "Entropy", "Speed",
    ]  # fmt: skip
    assert not re.search(r'(src|href)="(?!data:)', page)  # it needs nothing but itself


def test_curves_have_the_values_of_the_log(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    x, y, half = report.curves(lines, ("eval/",))["passer"]
    assert (x.tolist(), y.tolist(), half.tolist()) == ([1000, 3000, 5000], [3, 9, 15], [1, 1, 1])
    assert report.thinned(np.arange(1000.0), np.ones(1000))[0][0] == 1


def test_exploitability_is_in_chips_a_deal_and_has_a_plot_of_its_own():
    lines = [{"decisions": 7.0, "eval/passer": 3.0, "eval/exploitability": 0.5}]
    strength, answered = (report.curves(lines, prefixes) for _, _, prefixes in report.PLOTS[:2])
    assert list(strength) == ["passer"] and list(answered) == ["exploitability"]
    assert answered["exploitability"][1].tolist() == [0.5]


def test_a_folder_that_is_no_run_is_refused(tmp_path, run):
    with pytest.raises(SystemExit, match=r"metrics\.jsonl"):
        report.main([str(tmp_path)])
    whole = (run / "metrics.jsonl").read_text()
    (run / "metrics.jsonl").write_text("")
    with pytest.raises(SystemExit, match="nothing has been logged"):
        report.main([str(run)])
    (run / "metrics.jsonl").write_text(whole + '{"decisions": 6000, "cha')  # the disk was full
    report.main([str(run)])
    assert "5 updates" in (run / "report.html").read_text()
    (run / "metrics.jsonl").write_text(f"{whole[3:]}")
    with pytest.raises(SystemExit, match=r"metrics\.jsonl:1: not a line of a log"):
        report.main([str(run)])
    (run / "metrics.jsonl").write_text(whole)
    for name in ("config.yaml", "versions.json"):
        content = (run / name).read_bytes()
        for broken in (b"\xff{", b"- 3", b"{"):
            (run / name).write_bytes(broken)
            with pytest.raises(SystemExit, match=f"{name}: not what a run writes"):
                report.main([str(run)])
        (run / name).write_bytes(content)
    (run / "config.yaml").write_text("rules: 3")
    with pytest.raises(SystemExit, match=r"config\.yaml: not what a run writes"):
        report.main([str(run)])
    (run / "config.yaml").write_text("{rules: [standard], num_players: [4]}")
    for broken in ('{"results": 3}', '{"results": [{}]}', "{}", '{"results": [3]}', "[]"):
        (run / "results.json").write_text(broken)
        with pytest.raises(SystemExit, match=r"results\.json: not what a run writes"):
            report.main([str(run)])


def test_an_exported_network_is_the_one_of_the_run(tmp_path, capsys):
    plan = Training(("standard",), {}, (3,), (16,), LAYOUT_VERSION, True)
    size = layout(resolve("standard"), 3).size
    weights = np.random.default_rng(0).normal(size=num_weights(widths_of(size, (16,))))
    weights = weights.astype(np.float32)
    save_weights(tmp_path / "best.safetensors", weights, plan)
    out = tmp_path / "it.npz"
    export.main([str(tmp_path / "best.safetensors"), str(out), "--note", "by hand"])
    assert "standard with 3 players" in capsys.readouterr().out
    agent = load_network(out)
    assert agent.training == plan and (agent.weights == weights).all()
    assert str(np.load(out)["note"]) == "by hand"
    with pytest.raises(SystemExit, match=r"must end in \.npz"):
        export.main([str(tmp_path / "best.safetensors"), str(tmp_path / "it.txt")])
    with pytest.raises(SystemExit, match="gone"):
        export.main([str(tmp_path / "gone.safetensors"), str(out)])
