#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs an example's train_shipped.sh twice, with small data and one epoch of each recipe: every recipe is accepted and leads to
# the next, and a second call goes on from what the first one left. Stand-ins for the programs make data and recipes small.
#     train_shipped.sh SCRIPT FOLDER_OF_PROGRAMS SCRATCH MODEL_AT_THE_END
set -eu
script=$1 programs=$2 scratch=$3 model=$4
rm -rf "$scratch"
mkdir -p "$scratch/bin"
cd "$scratch"

cat >bin/darcy_data <<END
#!/bin/sh
exec "$programs/darcy_data" "\$@" -runs 1
END
cat >bin/airflow <<END
#!/bin/sh
exec "$programs/airflow" "\$@" -shapes 1 -panels 500
END
cat >bin/shallow_water <<END
#!/bin/sh
exec "$programs/shallow_water" "\$@" -runs 1 -days 0.5
END
cat >bin/tracking <<END
#!/bin/sh
exec "$programs/tracking" "\$@" -events 2 -hits 400
END
cat >bin/pileup <<END
#!/bin/sh
exec "$programs/pileup" "\$@" -events 2 -particles 1500 -pileup 15
END
cat >bin/surrogate <<END
#!/bin/sh
# train CONFIG [--resume]
recipe=\$(basename "\$2")
sed 's/^epochs = .*/epochs = 1/; s/, "large.cars_1[05].*20000.h5"//' "\$2" >"small_\$recipe"
echo "\$recipe\${3:+ \$3}" >>calls
exec "$programs/surrogate" train "small_\$recipe" \$3
END
chmod +x bin/*

sh "$script" bin
"$programs/surrogate" check "$model"
cp calls first_calls
sh "$script" bin
"$programs/surrogate" check "$model"

# The second call asks for the same recipes, each of them to go on.
sed 's/$/ --resume/' first_calls | cat first_calls - >expected
diff expected calls
