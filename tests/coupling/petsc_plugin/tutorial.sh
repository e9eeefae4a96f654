#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tutorial.sh <expected> <work folder> <launcher and program> -- <options of both> -- <without> -- <with the plug-in>
# Runs one of PETSc's tutorials as it is and with the plug-in, and compares the convergence that both print. expected:
#   used      the prediction is used, and the solve needs fewer lines of residual norms
#   rejected  the prediction is rejected, and the residual norms are the same, digit by digit
#   optional  there is no surrogate, which is said once, and the residual norms are the same
set -e
expected=$1
work=$2
shift 2
program= both= plain= plugged= part=program
for word in "$@"; do
    if [ "$word" = -- ]; then
        case $part in program) part=both ;; both) part=plain ;; plain) part=plugged ;; esac
    else
        eval "$part=\"\$$part \$word\""
    fi
done
mkdir -p "$work"
fail() {
    echo "$1"
    cat "$work/plain.txt" "$work/plugged.txt"
    exit 1
}
$program $both $plain >"$work/plain.txt" 2>&1 || { touch "$work/plugged.txt"; fail "the program fails as it is"; }
$program $both $plugged >"$work/plugged.txt" 2>&1 || fail "the program fails with the plug-in"
for run in plain plugged; do
    grep -E '(KSP Residual|SNES Function) norm' "$work/$run.txt" | sed 's/^ *//' >"$work/$run.norms" || true
done
n_plain=$(wc -l <"$work/plain.norms")
n_plugged=$(wc -l <"$work/plugged.norms")
[ "$n_plain" -gt 1 ] || fail "the plain run prints no norms"
grep -q 'converged due to CONVERGED' "$work/plugged.txt" || fail "not converged with the plug-in"
case $expected in
used)
    grep -Eq 'asked [0-9]+, used [1-9]' "$work/plugged.txt" || fail "the prediction was not used"
    [ "$n_plugged" -lt "$n_plain" ] || fail "used, and no faster: $n_plain and $n_plugged norms"
    ;;
rejected)
    grep -Eq 'used 0, rejected [1-9][0-9]* \(not better [1-9]' "$work/plugged.txt" || fail "the prediction was not rejected"
    cmp "$work/plain.norms" "$work/plugged.norms" || fail "rejected, but the convergence differs"
    ;;
optional)
    [ "$(grep -c 'surrogate: not used, the KSP goes on without it' "$work/plugged.txt")" = 1 ] || fail "not said once"
    cmp "$work/plain.norms" "$work/plugged.norms" || fail "no surrogate, and another convergence"
    ;;
*) fail "unknown: $expected" ;;
esac
echo "$expected: $n_plain and $n_plugged norms"
