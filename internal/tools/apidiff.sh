#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Compares the exported API of HEAD's working tree with that of the last tag, or of the commit given. Incompatible changes must stand in
# CHANGELOG, in a section "### Breaking" of Unreleased; otherwise it fails.
set -euo pipefail
cd "$(dirname "$0")/../.."
module=github.com/proompteng/controllerkit

ref=${1:-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)}
if [ -z "$ref" ]; then
	echo "apidiff: no tag yet, so nothing is promised; compare with a commit by REF=commit"
	exit 0
fi

work=$(mktemp -d)
trap 'git worktree remove --force "$work/old" 2>/dev/null || true; rm -rf "$work"' EXIT
(cd internal/tools && GOFLAGS= go build -o "$work/apidiff" golang.org/x/exp/cmd/apidiff)
git worktree add --quiet --detach "$work/old" "$ref"
(cd "$work/old" && "$work/apidiff" -m -w "$work/old.api" "$module")
"$work/apidiff" -m -w "$work/new.api" "$module"
"$work/apidiff" -m "$work/old.api" "$work/new.api" # internal packages are left out by the tool
broken=$("$work/apidiff" -m -incompatible "$work/old.api" "$work/new.api")
if [ -n "$broken" ] && ! sed -n '/^## Unreleased/,/^## \[\?v\?[0-9]/p' CHANGELOG.md | grep -q '^### Breaking'; then
	echo "apidiff: changes since $ref break users, and CHANGELOG has no section \"### Breaking\" under Unreleased" >&2
	exit 1
fi
