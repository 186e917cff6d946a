#!/bin/sh
# setup.sh PYTHON VENV: a virtual environment with Watchline (editable), its extras and the development tools.
set -eu

python=$1
venv=$2

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

if [ -z "$python" ]; then
    echo "Watchline needs Python 3.11 or newer, and none was found." >&2
    echo "Install one, or name it: make PYTHON=/path/to/python3" >&2
    exit 1
fi

# Kept when it runs; made anew when its Python is gone or too old.
if ! "$venv/bin/python" -c "import pip; $new_enough" 2>/dev/null; then
    if ! "$python" -c "$new_enough" 2>/dev/null; then
        echo "Watchline needs Python 3.11 or newer, and $python is not that." >&2
        echo "Name another one: make PYTHON=/path/to/python3" >&2
        exit 1
    fi
    echo "Making $venv with $("$python" --version) …"
    if ! "$python" -m venv --clear "$venv"; then
        echo "$python can't make a virtual environment (on Debian and Ubuntu: apt install python3-venv)." >&2
        exit 1
    fi
fi

echo "Installing packages into $venv, about a minute the first time …"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
"$venv/bin/python" -m pip install --quiet 'pip>=25.1' # the first that knows --group
"$venv/bin/python" -m pip install --quiet --constraint constraints.txt --editable '.[server,embedded]' --group dev
