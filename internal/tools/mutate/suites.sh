#!/usr/bin/env bash
# Copyright The controllerkit Authors.
# SPDX-License-Identifier: Apache-2.0

# Tries each bug of bugs.txt in a copy of the last commit, or those whose suite ends with $1: the unit tests must miss
# it, and the suite must notice it.
set -uo pipefail
cd "$(dirname "$0")/../../.."
only=${1-}
export CGO_ENABLED=0 GOFLAGS=-trimpath
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"' EXIT
git worktree add --quiet --detach "$tree" || exit

# Runs tests of a folder. The root module is tested with the newest versions, which the suites require too.
tests() {
	local work=off
	cd "$tree/$1" || return
	[[ $(GOWORK=off go env GOMOD) != "$tree/go.mod" ]] || work=$tree/internal/compat/newest.work
	GOWORK=$work go test -vet=off -count=1 -skip 'Thousand|Cliff' -run "$2" . </dev/null 2>&1
}

# Replaces lines of a file, which must have them once.
replace() {
	local file=$tree/$1 old=$2 new=$3 text rest
	text=$(<"$file")$'\n'
	rest=${text#*"$old"}
	[[ $rest != "$text" && $rest != *"$old"* ]] || { echo "$1 must have the lines once" && return 1; }
	printf %s "${text%%"$old"*}$new$rest" >"$file"
}

# Makes the replacements of a bug: files, each with its lines.
edit() {
	local file='' old='' new='' line
	for line in "$@" ''; do
		case $line in
		-*) old+=${line:1}$'\n' ;;
		+*) new+=${line:1}$'\n' ;;
		*)
			[[ -z $file ]] || replace "$file" "$old" "$new" || return
			file=$line old='' new=''
			;;
		esac
	done
}

# Tries a bug: a sentence, a suite with a pattern of tests, and files with lines.
try() {
	local suite=${2%% *} pattern=${2#* } began=$SECONDS verdict='' out=''
	[[ $suite == *"$only" ]] || return 0
	git -C "$tree" checkout --quiet .
	if ! out=$(edit "${@:3}"); then
		verdict='does not fit the code'
	elif ! out=$(tests "$(dirname "$3")" .); then
		verdict='the unit tests notice it'
	elif out=$(tests "$suite" "$pattern"); then
		verdict='the suite misses it'
	elif [[ $out != *'--- FAIL'* ]]; then
		verdict='the suite does not run'
	fi
	printf '%-26s %4ds  %s [%s]\n' "$suite" $((SECONDS - began)) "$1" "${verdict:-noticed by the suite alone}"
	[[ -z $verdict ]] || { tail -c 2000 <<<"$out" && return 1; }
}

failed=0
bug=()
while IFS= read -r line; do
	if [[ $line == '#'* ]]; then
		continue
	elif [[ -n $line ]]; then
		bug+=("$line")
	elif ((${#bug[@]})); then
		try "${bug[@]}" || failed=1
		bug=()
	fi
done < <(cat internal/tools/mutate/bugs.txt && echo)
exit $failed
