#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh keep_report.sh <compiler> <argument>...: runs nvcc and keeps what ptxas reports of every kernel (-Xptxas=-v) in
# <object>.report. Everything else that the compiler says is shown.
object=
previous=
for argument; do
    [ "$previous" = -o ] && object=$argument
    previous=$argument
done
"$@" 2>"$object.report"
status=$?
grep -v -e '^ptxas info' -e '^ *[0-9]* bytes stack frame' "$object.report" >&2
exit $status
