#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# manual_test.sh PROGRAM MAN_PAGE COMPLETION: both say what `surrogate help COMMAND` says, the page is sound troff, and the
# completion completes.
set -u
program=$1 page=$2 completion=$3
fail() { echo "manual_test: $*"; exit 1; }

text=$(cat "$page" "$completion") || exit 1
commands=$("$program" help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -w)" -ge 5 ] || fail "no commands in the help"
plain=$(sed 's/\\-/-/g; s/\\fI//g; s/\\fR//g; s/\\&//g; s/\\e/\\/g' "$page")

# Every option with its values, and the text of every one, in the page.
. "$completion" || fail "bash does not read the completion"
complete_at() {  # WORD..: what follows the last one
    COMP_WORDS=(surrogate "$@")
    COMP_CWORD=$#
    _surrogate
    echo "${COMPREPLY[*]}"
}
for command in $commands; do
    help=$("$program" help "$command")
    options=$(echo "$help" | sed -n "/^Options:/,/^$/p" | grep -o '^  \(-[a-zA-Z],\)\?--[a-z-]*' | sed 's/.*--/--/' | sort)
    found=$(complete_at "$command" -- | tr ' ' '\n' | sort)
    [ "$options" = "$found" ] || fail "$command: the completion has $found instead of $options"
    section=$(echo "$plain" | sed -n "/^\.SH $command\$/,/^\.SH /p")
    for option in $options; do
        echo "$section" | grep -q -e "^\.B .*$option\b" || fail "$command: no $option in the page"
    done
    echo "$section" | grep -q "^Exit status: 0" || fail "$command: no exit status in the page"
    echo "$section" | grep -q "^Example: .*surrogate $command" || fail "$command: no example in the page"
    echo "$help" | grep -o '^  --[a-z-]* [a-z0-9|]*|[a-zA-Z0-9|]*' | while read -r option values; do
        # Behind the words there may be files of the folder.
        words=${values%|FILE}
        found=$(complete_at "$command" "$option" "")
        [ "$words" = "$values" ] || found=${found:0:${#words}}
        [ "$found" = "${words//|/ }" ] ||
            fail "$command $option: the completion has '$found' instead of $values"
        echo "$section" | grep -q -F -e "$option $values" || fail "$command $option $values: not in the page"
    done || exit 1
done

[ "$(complete_at pre)" = predict ] || fail "pre is not completed to predict"
[ "$(complete_at help che)" = check ] || fail "help che is not completed to check"
[ "$(complete_at check --partition s)" = scattered ] || fail "--partition s is not completed to scattered"
[ "$(complete_at check --threads "")" = "" ] || fail "a number is completed"
cd "$(dirname "$page")" || exit 1
[ "$(complete_at predict --at surrogate.)" = surrogate.1 ] || fail "--at completes no file"
[ "$(complete_at info surrogate.)" = surrogate.1 ] || fail "a file is not completed: $(complete_at info surrogate.)"

if command -v groff > /dev/null; then
    complaints=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
    [ -z "$complaints" ] || fail "groff: $complaints"
else
    echo "groff is not installed: the page was not formatted"
fi
