# SPDX-License-Identifier: Apache-2.0
# Opens every kind of file of the library in ParaView, then files that are wrong on purpose:
#     sh open_all.sh SCRIPT MAKE_FILES FOLDER [MAKE_SETS]        MAKE_SETS: writes data sets into a folder
# "SKIPPED: .." where there is no ParaView, none of its Python modules (SURROGATE_PARAVIEW_PYTHON may
# name their folder), or no display to be had.
set -eu
script=$1 make_files=$2 folder=$3 make_sets=${4:-}
command -v pvbatch > /dev/null || { echo "SKIPPED: there is no pvbatch"; exit 0; }
if [ -n "${SURROGATE_PARAVIEW_PYTHON:-}" ]; then
    export PYTHONPATH="$SURROGATE_PARAVIEW_PYTHON"
fi
rm -rf "$folder"
mkdir -p "$folder/good" "$folder/bad" "$folder/sets"
if [ -z "${DISPLAY:-}" ]; then
    # Not xvfb-run, which waits for three seconds at most and lets the display reset between programs.
    command -v Xvfb > /dev/null || { echo "SKIPPED: there is no display and no Xvfb"; exit 0; }
    Xvfb -displayfd 3 -noreset -nolisten tcp -screen 0 640x480x24 3> "$folder/display" > "$folder/xvfb.log" 2>&1 &
    server=$!
    trap 'kill $server' EXIT
    while [ ! -s "$folder/display" ]; do
        kill -0 $server || { trap - EXIT; echo "SKIPPED: Xvfb does not start: $(tail -n 1 "$folder/xvfb.log")"; exit 0; }
        sleep 0.2
    done
    export DISPLAY=":$(cat "$folder/display")"
fi
echo "from paraview import simple" > "$folder/import.py"
pvbatch "$folder/import.py" > "$folder/import.log" 2>&1 || {
    echo "SKIPPED: pvbatch has no Python modules (python3-paraview): $(tail -n 1 "$folder/import.log")"
    exit 0
}

# shown FILE..: the script; its status is kept.
shown() {
    status=0
    pvbatch "$script" "$@" > "$folder/log" 2>&1 || status=$?
    cat "$folder/log"
}

"$make_files" "$folder/good"
shown "$folder/good"
[ $status = 0 ] || { echo "FAILED: status $status"; exit 1; }
for kind in pvd vtu pvtu vti pvti vts pvts; do
    grep -q "\.$kind: " "$folder/log" || { echo "FAILED: no .$kind was opened"; exit 1; }
done
grep -q "ranks_3_globe.pvd: 2 steps, 0 .. 0.5," "$folder/log" || { echo "FAILED: no steps in time"; exit 1; }

# Data sets: fields of one to three axes are shown; fields with more axes are rejected with an error that names them.
if [ -n "$make_sets" ]; then
    "$make_sets" "$folder/sets"
    shown "$folder/sets/structured_grid.h5" "$folder/sets/clouds.h5"
    [ $status = 0 ] || { echo "FAILED: status $status of data sets"; exit 1; }
    grep -q "structured_grid.h5: .* 60 cells, pressure 0 .. 59" "$folder/log" || { echo "FAILED: fields of a structured grid"; exit 1; }
    grep -q "clouds.h5: .* mass 0 .. 6, x 0 .. 6" "$folder/log" || { echo "FAILED: fields of clouds"; exit 1; }
    shown "$folder/sets/series.h5"
    [ $status = 1 ] || { echo "FAILED: four axes gave status $status"; exit 1; }
    grep -q "series.h5: BAD: fields over (sample, time, lat, lon): .* three axes at most" "$folder/log" ||
        { echo "FAILED: what is said of four axes"; exit 1; }
fi

# Faults must be reported: a missing piece, a cut file, a value that is no number, no file.
cp -r "$folder/good/ranks_3_cells" "$folder/good/ranks_3_cells.pvd" "$folder/bad"
rm "$folder/bad/ranks_3_cells/step_000001_0002.vtu"
head -c 700 "$folder/good/ranks_1_plane/step_000000.vti" > "$folder/bad/cut.vti"
cat > "$folder/bad/nan.vtu" << 'END'
<VTKFile type="UnstructuredGrid" version="0.1"><UnstructuredGrid><Piece NumberOfPoints="1" NumberOfCells="1">
<PointData><DataArray type="Float64" Name="lost" format="ascii">nan</DataArray></PointData>
<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">0 0 0</DataArray></Points>
<Cells><DataArray type="Int64" Name="connectivity" format="ascii">0</DataArray>
<DataArray type="Int64" Name="offsets" format="ascii">1</DataArray>
<DataArray type="UInt8" Name="types" format="ascii">1</DataArray></Cells></Piece></UnstructuredGrid></VTKFile>
END
shown "$folder/bad/ranks_3_cells.pvd" "$folder/bad/cut.vti" "$folder/bad/nan.vtu" "$folder/bad/none.pvd"
[ $status = 1 ] || { echo "FAILED: files that are wrong gave status $status"; exit 1; }
[ "$(grep -c ': BAD: ' "$folder/log")" = 4 ] || { echo "FAILED: not all that is wrong was seen"; exit 1; }
echo "all as expected"
