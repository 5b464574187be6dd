#!/bin/sh
# Creates .venv with the pinned versions of constraints.txt and this checkout in editable mode.
# PYTHON=/path/to/python chooses the interpreter; EXTRAS=cluster,server,postgresql,dev,torch,bench what comes with it.
# PyTorch is its build for CPUs: from pip's own sources where these have it, else from PyTorch's index.
set -eu
cd "$(dirname "$0")/.."
extras=${EXTRAS:-cluster,server,postgresql,dev}

fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if new_enough "$candidate"; then echo "$candidate"; return; fi
    done
    fail "needs Python 3.11 or newer; found: $(python3 --version 2>&1 || true). Name one: make PYTHON=/path/to/python3.12"
}

create_environment() {
    python=$(find_python)
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python cannot create environments; install its venv module (Debian, Ubuntu: apt install python3-venv)"
    "$python" -m venv .venv
}

torch_source() {
    version=$(sed -n 's/^torch==//p' constraints.txt)
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --dry-run --no-deps "torch==$version+cpu" \
        >/dev/null 2>&1 || echo "--extra-index-url=https://download.pytorch.org/whl/cpu"
}

if [ ! -x .venv/bin/python ]; then create_environment; fi
# The environment in which pip builds the project is pinned, too; pip 25.3 and newer read the second.
export PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
case $extras in *torch*) source=$(torch_source) ;; *) source= ;; esac
echo "setup: installing into .venv (the first time takes a minute or a few, and 1 GB of disk)" >&2
.venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
    ${source:+"$source"} --constraint constraints.txt --editable ".[$extras]" ||
    fail "pip could not install; it says why above. Behind a proxy or without a network, set pip's own variables (PIP_INDEX_URL, PIP_FIND_LINKS) and run make again"
