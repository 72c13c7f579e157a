#!/usr/bin/env bash
# Checks the models in this folder with spin: the correct ones exhaustively, and every mutant.
#
#	check.sh quick		everything, at small bounds; side by side; about two minutes
#	check.sh full		the large bounds as well; about 15 minutes and up to 4 GiB of memory
#
# A correct model passes only if the search was complete: no error, no search depth or memory limit met. A mutant
# passes only if it breaks the invariant that is named for it. Anything else fails, and the script says so at the end.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mode=${1:-quick}
only=${2:-}                     # a pattern: run only the rows whose model and name match it
case $mode in
quick | full) ;;
*)
	echo "usage: check.sh [quick|full] [pattern]" >&2
	exit 2
	;;
esac

need() {
	command -v "$1" >/dev/null && return
	echo "installing $2 ..."
	apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null
}
need spin spin
need gcc gcc

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# The small searches run side by side. One that is large has the memory for itself.
at_once=1
[ "$mode" = full ] || at_once=$(getconf _NPROCESSORS_ONLN)
rows=0
tiny=no

verdict() { # verdict ok|FAIL model name, what was found
	echo "$1" >>"$work/verdicts"
	printf '%-4s  %-10s  %-24s  %s\n' "$@"
}

# row model, name, expected, defines: one search. `expected` is `safe` (complete, nothing broken) or the assertion that
# must fail. A name in capitals is a mutant.
row() {
	[[ -z $only || "$1 $2" == *$only* ]] || return 0
	while [ "$(jobs -pr | wc -l)" -ge "$at_once" ]; do wait -n || true; done
	rows=$((rows + 1))
	search "$@" &
}

# search is row, in a process and a folder of its own.
search() {
	local model=$1 name=$2 expected=$3 opt=-O2
	shift 3
	local child= dir
	trap 'kill ${child:-} 2>/dev/null || true' EXIT
	dir=$(mktemp -d -p "$work")
	cp "$here"/*.pml "$here"/*.h "$dir"
	cd "$dir"
	local spinflags=() d
	for d in "$@"; do spinflags+=("-D$d"); done
	[ "$expected" = safe ] || opt=-O1
	[ "$tiny" = no ] || opt=-O0
	# SAFETY: assertions only. NOREDUCE: every step reads or writes what the others do, so partial order reduction
	# finds nothing to leave out.
	if ! spin -a "${spinflags[@]}" "$model.pml" >log 2>&1 ||
		! gcc $opt -w -DSAFETY -DNOREDUCE -DMEMLIM=8000 -o pan pan.c >>log 2>&1; then
		verdict FAIL "$model" "$name" "does not compile: $(head -1 log)"
		return
	fi
	# -E: that nothing more can happen is no error in the models whose time or messages are bounded. In
	# liveness.pml it would be one: there time must always go on.
	local ends=-E
	[ "$model" != liveness ] || ends=-n
	nice -n 10 ./pan $ends -n -m2000000 -w23 >log 2>&1 &
	child=$! # so that a signal to this script ends the search as well
	wait $child || true
	child=
	local states depth time broken complete=yes found
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' log)
	depth=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' log)
	time=$(sed -n 's/^pan: elapsed time \([0-9.e-]*\) seconds/\1/p' log)
	broken=$(sed -n 's/^pan:[0-9]*: assertion violated (\+\([SLW][0-9]_[a-z_0-9]*\)||.*/\1/p' log)
	if ! grep -q 'errors: 0$' log || grep -Eq 'Search not completed|max search depth too small|out of memory|memory limit|hash-table' log; then
		complete=no
	fi
	printf -v states %.0f "${states:-0}"
	found="$states states, depth ${depth:-?}, ${time:-?} s"
	if [ "$expected" = safe ]; then
		if [ $complete = yes ] && [ "$states" -gt 1000 ]; then
			verdict ok "$model" "$name" "safe, complete: $found"
		else
			verdict FAIL "$model" "$name" "not safe or not complete: $(grep -m1 -E '^pan:1|error|limit|memory' log) ($found)"
		fi
	elif [[ -n $broken && $broken == "$expected"* ]]; then
		verdict ok "$model" "$name" "breaks $broken: $found"
	else
		verdict FAIL "$model" "$name" "should break $expected, found ${broken:-nothing of that kind}: $(grep -m1 '^pan:1' log || true) ($found)"
	fi
}

source "$here/rows.sh"
for row in $(jobs -p); do wait "$row" || true; done

passed=$(grep -c '^ok$' "$work/verdicts" || true)
failed=$(grep -c '^FAIL$' "$work/verdicts" || true)
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ] && [ "$passed" = "$rows" ]
