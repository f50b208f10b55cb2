# Makes the environment ready in .venv, from requirements.lock, unless it already is. To be sourced, from any folder.
# Wants python3 and a network the first time; leaves PYTHON, the environment's own.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHON=$ROOT/.venv/bin/python

env_fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# A shim of pyenv's can be on the path and yet not run, so being found is not enough.
find_uv() {
  local candidate
  for candidate in "$(command -v uv || true)" "$ROOT/.uv/bin/uv" "$ROOT/.uv/packages/bin/uv"; do
    if [[ -n $candidate ]] && "$candidate" --version >/dev/null 2>&1; then
      UV=$candidate
      return 0
    fi
  done
  return 1
}

# Into a folder of the project: a system's own Python is not ours to install into, and many refuse it.
get_uv() {
  local python
  for python in python3 /usr/bin/python3 python3.13 python3.12; do
    "$python" -c '' >/dev/null 2>&1 || continue
    if "$python" -m venv "$ROOT/.uv" >/dev/null 2>&1 && "$ROOT/.uv/bin/python" -m pip install --quiet uv; then
      return 0
    fi
    rm -rf "$ROOT/.uv"
    # Debian keeps venv in a package of its own; pip alone does too.
    if "$python" -m pip install --quiet --target "$ROOT/.uv/packages" uv 2>/dev/null; then
      return 0
    fi
  done
  rm -rf "$ROOT/.uv"
  return 1
}

# uv asks pyenv's shims, which know only the versions that a folder names.
venv_from_pyenv() {
  local python
  for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.{13,14,12}*/bin/python; do
    if [[ -x $python ]] && "$UV" venv --clear --quiet --no-python-downloads --python "$python" "$ROOT/.venv"; then
      return 0
    fi
  done
  return 1
}

make_environment() {
  find_uv || {
    echo "Getting uv into .uv …" >&2
    get_uv && find_uv
  } || env_fail "Agentroom needs uv to make its environment, and could not get it." \
    "On Debian or Ubuntu: sudo apt-get install python3-venv" \
    "On macOS: brew install uv" "Then start this again. Without a network it can't be done the first time."

  echo "Making the environment in .venv …" >&2
  if ! [[ -x $PYTHON ]]; then
    # The newest Python that is here and fits, before one is downloaded.
    "$UV" venv --clear --quiet --no-python-downloads "$ROOT/.venv" 2>/dev/null ||
      "$UV" venv --clear --quiet --no-python-downloads --python '>=3.12' "$ROOT/.venv" 2>/dev/null ||
      venv_from_pyenv ||
      "$UV" venv --clear --quiet "$ROOT/.venv" ||
      env_fail "Agentroom needs Python 3.12 or newer. None was found, and uv could not download one; see above." \
        "Debian 13 and Ubuntu 24.04 have one: sudo apt-get install python3. On Debian 12 uv downloads it, which wants a" \
        "way to the internet. Elsewhere: install Python 3.13. Then start this again."
  fi
  "$UV" pip sync --quiet --python "$PYTHON" --require-hashes "$ROOT/requirements.lock" ||
    env_fail "The packages of requirements.lock could not be installed; see above."
  # hatchling comes with the lock, so building the project itself fetches nothing.
  "$UV" pip install --quiet --python "$PYTHON" --no-deps --no-build-isolation --editable "$ROOT" ||
    env_fail "The project itself could not be installed into .venv; see above."
  cp "$ROOT/requirements.lock" "$ROOT/.venv/made-from.lock"
}

if ! cmp -s "$ROOT/requirements.lock" "$ROOT/.venv/made-from.lock" || ! "$PYTHON" -c '' 2>/dev/null; then
  make_environment
fi
