"""A data folder for each run of the tests, made before the settings are read."""

from __future__ import annotations

import atexit
import os
import tempfile
from pathlib import Path

# An object that lives as long as the process: it removes the folder when that ends.
_folder = tempfile.TemporaryDirectory(prefix="agentroom-tests-")
atexit.register(_folder.cleanup)
(Path(_folder.name) / "static").mkdir()
os.environ["AGENTROOM_DATA"] = _folder.name
