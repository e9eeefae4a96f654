#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs examples/airflow/compare_families.py with one small body per data set and one epoch: each family has a row, a
# second call trains nothing, and a call with other options is an error.
#     compare_families.sh SCRIPT FOLDER_OF_PROGRAMS SCRATCH PYTHON
set -eu
script=$1 programs=$2 scratch=$3 python=$4
rm -rf "$scratch"
mkdir -p "$scratch/bin"
cd "$scratch"

cat >bin/airflow <<END
#!/bin/sh
exec "$programs/airflow" "\$@" -shapes 1 -panels 500
END
cat >bin/surrogate <<END
#!/bin/sh
echo "\$1" >>calls
exec "$programs/surrogate" "\$@"
END
chmod +x bin/*

run() { "$python" "$script" --programs bin --points 500,600,700,800 "$@"; }
run --minutes 0.0001 >first
for family in FLARE "Ball Sparse Attention" "Full attention" Erwin Sequoia; do
    grep "^| $family | 0.[0-9] min, 1 epochs | [0-9.]* %, [0-9.]* s, [0-9.]* MB |" first
done
[ "$(ls families/*.toml | wc -l)" -eq 5 ]
rm calls
run --minutes 0.0001 >second
[ ! -e calls ]
grep "^|" first >first_table
grep "^|" second | diff first_table -

# rejected TEXT OPTION..: the call fails with TEXT before it trains
rejected() {
    text=$1
    shift
    if run "$@" >rejected.log 2>&1; then exit 1; fi
    grep -- "$text" rejected.log
    [ ! -e calls ]
}
rejected "flare.json has the options {'minutes': 0.0001, .*, expected {'minutes': 1000.0, .*; remove the file" --minutes 1000
rejected "bsa.json has the options .*, expected {'epochs': 2, " --families bsa --epochs flare=1,bsa=2
rejected "--epochs has no 'erwin', expected all of flare, bsa, full, erwin, sequoia" --epochs flare=2,bsa=1,full=1
rejected "'flare=0', expected numbers such as flare=89,bsa=35" --epochs flare=0
rejected "'500,600', expected 4 rising numbers" --points 500,600
rejected "--epochs has 'hept', expected some of flare, bsa, full, erwin, sequoia" --epochs hept=1

run --families flare --epochs flare=2 --folder more | grep "^| FLARE | 0.[0-9] min, 2 epochs |"
