#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# installed.sh <python> <folder of the package> <model> <scratch folder> [pip]: imports the package from an installation, or
# from a copy that pip has made of it, predicts, and says where the library is.
set -eu
python=$1 folder=$2 model=$3 scratch=$4
unset SURROGATE_LIBRARY_DIR
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
if [ "${5:-}" = pip ]; then
    if ! "$python" -c "import importlib.util as i, sys; sys.exit(not (i.find_spec('pip') and i.find_spec('setuptools')))"; then
        echo "SKIPPED: this Python has no pip and setuptools"
        exit 0
    fi
    cp -r "$folder" source # pip builds beside the sources
    "$python" -m pip install --quiet --no-deps --no-build-isolation --no-index --disable-pip-version-check \
        --target site "$scratch/source"
    folder=$scratch/site
    test -f site/surrogate/py.typed
fi
PYTHONPATH=$folder "$python" - "$model" <<'END'
import sys
import numpy
import surrogate
import surrogate.export

x = numpy.random.default_rng(0).random((50, 2))
with surrogate.Plan.open(sys.argv[1], x) as plan:
    assert numpy.isfinite(plan.predict(mobility=numpy.full(50, 5.0))["pressure"]).all()
with open("/proc/self/maps", encoding="ascii") as maps:
    library = next(line.split()[-1] for line in maps if "libsurrogate.so" in line)
print(f"surrogate {surrogate.version()} of {surrogate.__file__} with {library}")
END
