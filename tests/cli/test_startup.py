"""Whoever asks for help does not wait: nothing heavy is loaded for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
from flgames.cli import app
try:
    app(sys.argv[1:])
except SystemExit as ended:
    print(json.dumps([ended.code, sorted(sys.modules)]))
"""


@pytest.mark.parametrize("arguments", ["--version", "--help", "play --help"])
def test_help_loads_nothing_heavy(arguments: str) -> None:
    command = [sys.executable, "-c", SCRIPT, *arguments.split()]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    code, modules = json.loads(said.splitlines()[-1])
    assert code == 0
    assert "flgames.cli" in modules
    assert not {"torch", "sklearn", "matplotlib", "numpy"} & set(modules)
