#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs examples/airflow/compare_families.py with one small body per data set and one epoch: both families have a row, and a second
# call trains nothing.
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

run() { "$python" "$script" --programs bin --minutes 0.0001 --families flare,sequoia; }
run >first
grep "^| FLARE | 0.[0-9] min, 1 epochs | [0-9.]* %, [0-9.]* s, [0-9.]* MB |" first
grep "^| Sequoia | 0.[0-9] min, 1 epochs |" first
rm calls
run >second
[ ! -e calls ]
grep "^|" first >first_table
grep "^|" second | diff first_table -
