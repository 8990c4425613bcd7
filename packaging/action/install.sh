#!/usr/bin/env bash
# Puts stackmark on the path of this step and of those that follow, unless it is there.
set -euo pipefail

command -v stackmark >/dev/null && exit
# The checkout may have a toolchain and settings of its own.
cd "$GITHUB_ACTION_PATH/../.."
cargo install --locked --path crates/cli --root "$RUNNER_TEMP/stackmark"
echo "$RUNNER_TEMP/stackmark/bin" >>"$GITHUB_PATH"
