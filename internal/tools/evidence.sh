#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes a table from a file into internal/docs/evidence.md, between <!-- NAME --> and the next <!-- end -->, with the date and the
# commit that it is of.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=$1 table=$2 page=internal/docs/evidence.md
grep -q "^<!-- $name -->" "$page" || { echo "$page has no <!-- $name -->" >&2; exit 1; }
changed=$(git status --porcelain -- '*.go' ':!internal/docs')
of="Measured $(date -u +%Y-%m-%d), of $(git rev-parse --short=8 HEAD)${changed:+ and changes that are in no commit}, at a load of $(cut -d' ' -f1 /proc/loadavg)."
awk -v name="<!-- $name -->" -v table="$table" -v of="$of" '
	$0 == name { print; print of; print ""; while ((getline line < table) > 0) print line; inside = 1 }
	$0 == "<!-- end -->" { inside = 0 }
	!inside { print }' "$page" >"$page.new"
mv "$page.new" "$page"
