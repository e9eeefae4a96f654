#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# predict_program.sh PROGRAM MODEL FOLDER: `surrogate predict` as a shell sees it, its options and exit status.
set -u
program=$1 model=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1

# square.vti: 3 x 3 points, and mobilities of which none leaves [3, 12]; far.vti: one does.
square() {
    echo '<?xml version="1.0"?>
<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">
<ImageData WholeExtent="0 2 0 2 0 0" Origin="0 0 0" Spacing="0.5 0.5 1"><Piece Extent="0 2 0 2 0 0"><PointData>
<DataArray type="Float64" Name="mobility" format="ascii">4 5 6 7 8 9 10 11 '"$1"'</DataArray>
</PointData></Piece></ImageData></VTKFile>'
}
square 11.5 > square.vti
square 1e6 > far.vti

# expect STATUS WORDS OPTION..: runs predict; WORDS are in what it prints
expect() {
    wanted=$1 words=$2
    shift 2
    "$program" predict "$model" "$@" > log 2>&1
    status=$?
    if [ $status -ne "$wanted" ] || ! grep -q -e "$words" log; then
        echo "predict $*: status $status instead of $wanted, or not '$words' in:"
        cat log
        exit 1
    fi
}

expect 2 "No such file" --mesh none.vti --out x.vti
expect 0 "taken as they are: mobility" --mesh square.vti --out out.vti
expect 2 "'out.vti' exists; --overwrite replaces it" --mesh square.vti --out out.vti
expect 0 "wrote ./out.vti" --mesh square.vti --out ./out.vti --overwrite
expect 2 "is the mesh itself" --mesh square.vti --out ./square.vti --overwrite
expect 0 "wrote strict.vti" --mesh square.vti --out strict.vti --strict
expect 0 "^warning: mobility: 11.1 % of the points .* worst is 1e+06$" --mesh far.vti --out far_out.vti --quiet
expect 1 "^warning: mobility" --mesh far.vti --out far_strict.vti --strict --quiet

# Readers without LZ4 open what is written unless lz4 is asked for.
for choice in default none zlib lz4; do
    compress=''
    [ $choice = default ] || compress="--compress $choice"
    # shellcheck disable=SC2086
    expect 0 "wrote compress_$choice.vti" --mesh square.vti --out compress_$choice.vti $compress
done
compressor() { sed -n '/<VTKFile/{s/.*compressor="\([A-Za-z0-9]*\)".*/\1/;t found
s/.*/none/;:found
p;q}' "compress_$1.vti"; }
for pair in default:vtkZLibDataCompressor none:none zlib:vtkZLibDataCompressor lz4:vtkLZ4DataCompressor; do
    if [ "$(compressor "${pair%%:*}")" != "${pair#*:}" ]; then
        echo "compress_${pair%%:*}.vti has the compressor '$(compressor "${pair%%:*}")'"
        exit 1
    fi
done
expect 2 "surrogate: --compress is 'gzip', expected none, zlib or lz4" --mesh square.vti --out x.vti --compress gzip

# A series: one plan, which follows the points where they move.
square 8 > again.vti
sed 's/Origin="0 0 0"/Origin="0 0.1 0"/' again.vti > moved.vti
printf '<VTKFile type="Collection"><Collection>%s</Collection></VTKFile>\n' \
    '<DataSet timestep="0" file="square.vti"/><DataSet timestep="0.5" file="again.vti"/>
     <DataSet timestep="2" file="moved.vti"/>' > run.pvd
expect 0 "^3 steps, planned once, points followed once$" --mesh run.pvd --out predicted.pvd
expect 2 "'predicted.pvd' exists; --overwrite replaces it, --resume continues" --mesh run.pvd --out predicted.pvd
expect 0 "^3 steps were there already$" --mesh run.pvd --out predicted.pvd --resume
expect 0 "^wrote predicted.pvd$" --mesh run.pvd --out predicted.pvd --overwrite
expect 2 "excludes" --mesh run.pvd --out predicted.pvd --overwrite --resume
grep -q 'timestep="0.5" .*file="predicted_1/step_000001.vti"' predicted.pvd || {
    echo "predicted.pvd does not name its steps:"
    cat predicted.pvd
    exit 1
}

if [ -e far_strict.vti ] || [ -e x.vti ]; then
    echo "a refused prediction has left a file"
    exit 1
fi
