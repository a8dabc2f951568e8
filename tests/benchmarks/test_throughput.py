"""Decisions per second: what the command prints."""

import json

from benchmarks import throughput


def test_the_tables_fit_a_terminal(monkeypatch, capsys):
    arguments = "--peers --rounds 1 --seconds 0.01 --startups 0 --core -1"
    monkeypatch.setattr("sys.argv", ["throughput", *arguments.split()])
    assert throughput.main() == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= throughput.TERMINAL
    labels = [row["label"] for row in json.loads(last)["results"]]
    assert all(any(line.startswith(label) for line in lines) for label in labels)
