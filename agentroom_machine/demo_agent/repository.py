"""The small git repository in which the demo agent works, with a bare remote that its pushes reach."""

from __future__ import annotations

import subprocess
from pathlib import Path

_FILES = {
    "README.md": "# The shop\n\nAdds up what the kitchen buys: `shop.py`, with its tests in `test_shop.py`.\n",
    "shop.py": (
        '"""What a basket costs."""\n\n\n'
        "def total(basket: list[tuple[str, int, float]]) -> float:\n"
        '    """The price of a basket of (name, how many, price of one)."""\n'
        "    return sum(price for _, _, price in basket)\n"
    ),
    "test_shop.py": (
        "import unittest\n\nfrom shop import total\n\n\n"
        "class Shop(unittest.TestCase):\n"
        "    def test_an_empty_basket_costs_nothing(self) -> None:\n"
        "        self.assertEqual(total([]), 0)\n\n"
        "    def test_three_eggs_cost_three_times_one(self) -> None:\n"
        '        self.assertEqual(total([("egg", 3, 0.5)]), 1.5)\n\n\n'
        'if __name__ == "__main__":\n    unittest.main()\n'
    ),
    "build/old.txt": "Left over from an earlier build.\n",
    ".gitignore": "__pycache__/\n.agentroom/\n",
}
"""One of the tests fails, so that there is something to mend."""


def prepare_demo_repository(path: Path | str) -> Path:
    """Makes the repository at ``path`` and its remote beside it, once; returns the repository."""
    path = Path(path).absolute()
    if (path / ".git").is_dir():
        return path
    path.mkdir(parents=True, exist_ok=True)
    for name, content in _FILES.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    remote = path.with_name(path.name + "-remote.git")
    _git(path.parent, "init", "-q", "--bare", "--initial-branch=main", str(remote))
    _git(path, "init", "-q", "--initial-branch=main")
    for key, value in (("user.name", "Demo"), ("user.email", "demo@example.com"), ("commit.gpgsign", "false")):
        _git(path, "config", key, value)
    _git(path, "remote", "add", "origin", str(remote))
    _git(path, "add", "-f", ".")
    _git(path, "commit", "-q", "-m", "Add up a basket")
    _git(path, "push", "-q", "-u", "origin", "main")
    return path


def _git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)
