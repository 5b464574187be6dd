#!/bin/sh
# Refresh the README's pictures from a real run of the demo.
set -eu
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
.venv/bin/motet demo --training --out "$out" --quiet
cp "$out/motet-demo.svg" docs/_static/demo.svg
cp "$out/motet-demo.png" docs/_static/demo-loss.png
