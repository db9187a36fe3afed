#!/bin/sh
# Creates .venv with uv inside and what uv.lock names; the rest of the set-up is Python.
set -eu
cd "$(dirname "$0")/../.."
UV=controlplane/provision/uv.txt # with the hash of each of its files
UV_VERSION=$(sed -n 's/^uv==\([0-9.]*\).*/\1/p' "$UV")

fail() {
    printf '\n%s\n  %s\n' "$1" "$2" >&2
    exit 1
}

find_python() {
    for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

install_venv_module() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        fail "$1 cannot create virtual environments." "sudo apt-get install -y python3-venv"
    fi
    if ! { apt-get update -q && apt-get install -y -q --no-install-recommends python3-venv; } >/dev/null; then
        fail "apt-get could not install python3-venv." "Run apt-get install python3-venv and see what it says."
    fi
}

create_environment() {
    python=$(find_python) || fail "Python 3.11 or newer was not found." \
        "Debian 12 and newer, Ubuntu 24.04 and newer: sudo apt-get install -y python3 python3-venv; or name one: make setup PYTHON=/path/to/python3.11"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv_module "$python"
    "$python" -m venv .venv || fail "$python could not create .venv." "Remove .venv and run make setup again."
}

started=$(date +%s)
if ! .venv/bin/python -c '' 2>/dev/null; then
    echo "  python              creating .venv"
    rm -rf .venv
    create_environment
fi
if [ "$(.venv/bin/uv --version 2>/dev/null | cut -d' ' -f2)" != "$UV_VERSION" ]; then
    echo "  uv                  installing $UV_VERSION into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r "$UV" ||
        fail "uv could not be installed." "Check the network and pip's configuration (pip config list), then run make setup again."
fi
# --inexact: uv itself lives in .venv and is in no lock.
.venv/bin/uv sync --frozen --inexact --quiet --python .venv/bin/python ||
    fail "The Python packages could not be installed." "Check the network, then run make setup again."
echo "  python packages     as in uv.lock  ($(($(date +%s) - started)).0 s)"
