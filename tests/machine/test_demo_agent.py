import struct
import subprocess
import zlib
from pathlib import Path
from xml.etree import ElementTree

from agentroom_machine.demo_agent import prepare_demo_repository
from agentroom_machine.demo_agent.picture import chart, png


def test_the_repository_is_made_once_with_a_remote_and_a_test_that_fails(tmp_path: Path) -> None:
    shop = prepare_demo_repository(tmp_path / "shop")
    (shop / "shop.py").write_text("changed\n")
    assert prepare_demo_repository(str(shop)) == shop
    assert (shop / "shop.py").read_text() == "changed\n"
    subprocess.run(["git", "checkout", "-q", "shop.py"], cwd=shop, check=True)
    failing = subprocess.run(["python3", "-m", "unittest"], cwd=shop, capture_output=True, text=True, check=False)
    assert "failures=1" in failing.stderr
    assert subprocess.run(["git", "push", "--dry-run", "-q"], cwd=shop, check=False).returncode == 0


def test_the_pictures_can_be_read() -> None:
    data = png([1, 2, 3])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, pixels = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        (check,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert check == zlib.crc32(kind + body)
        pixels += zlib.decompress(body) if kind == b"IDAT" else b""
        at += 12 + length
    assert len(pixels) == 160 * (1 + 3 * 320)
    assert len(set(pixels)) > 3
    assert ElementTree.fromstring(chart("Sold", [("Mon", 1)])).tag.endswith("svg")  # noqa: S314 - our own
