#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks and times our device code on a machine that has a device, nvcc, CMake, a C++ compiler and little else.
#
#     sh share/gpu/run.sh                                      results in gpu-results/: device.md, device.json, *.log
#     OUT=/tmp/r SKIP="sanitizer pytorch" sh share/gpu/run.sh  somewhere else, without these parts
#     PARTS="build check" sh share/gpu/run.sh                  these parts alone
#
# Parts, each with its own limit of time; results are written as they come, and a part that fails stops no other:
#   build      benchmarks/device (device code, the reference, a main of its own), for this device alone
#   check      every pass against the reference in double: awkward sizes, all operands, the same bits twice
#   limits     rates of copies, exponentials and products, which times are measured against
#   time       each pass, one block, eight blocks, launched one by one and as a graph; N = 1,000,000
#   pytorch    the same block in PyTorch in turns with ours, if python3 has PyTorch
#   sanitizer  small checks under compute-sanitizer's memcheck and racecheck, if it is there
#   library    the library on one rank: golden files by `surrogate check`, tests of devices. Needs nlohmann-json, CLI11,
#              Highway and xxHash, and GoogleTest for the tests: here, or carried (share/gpu/carry.sh)
# In all at most BUDGET seconds, 470 if not set; SLOW=5 gives every part five times its limit (a machine of few cores, with
# BUDGET to match); TINY=1 small sizes, to try the script. Exit status 1 if a part failed. Without a device everything is built and each part says so.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
OUT=${OUT:-gpu-results}
BUILD=${BUILD:-build-device}
mkdir -p "$OUT" "$BUILD"
OUT=$(cd "$OUT" && pwd)
BUILD=$(cd "$BUILD" && pwd)
export OUT BUILD
records=$OUT/records.jsonl
program=${PROGRAM:-$BUILD/passes/device_passes} # PROGRAM: another one, to try the script
carried=$root/share/gpu/carried
n_core=$(nproc)

# Status of a part: 0 passed, 77 no device, 78 something it needs is not here, else failed.
is_done() { [ "$1" -eq 0 ] || [ "$1" -eq 77 ] || [ "$1" -eq 78 ]; }

# gpu_query <field>: one field of nvidia-smi for the first device, or nothing.
gpu_query() { nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits -i 0 2>/dev/null | head -n 1 || true; }

# The architecture to compile for: that of the device, or all that are shipped.
architectures() {
    case $(gpu_query compute_cap) in
    9.0) echo 90a-real ;;
    8.*) echo 80-real ;;
    *) echo "80-real;90a-real" ;;
    esac
}

generator() { command -v ninja >/dev/null && echo Ninja || echo "Unix Makefiles"; }

part_build() {
    cmake -G "$(generator)" -S "$root/benchmarks/device" -B "$BUILD/passes" -DCMAKE_BUILD_TYPE=Release \
        "-DSURROGATE_CUDA_ARCHITECTURES=$(architectures)" && cmake --build "$BUILD/passes" -j "$n_core"
}

part_check() { "$program" check ${TINY:+--tiny} --json "$records"; }
part_limits() { "$program" limits ${TINY:+--tiny} --json "$records"; }
part_time() { "$program" time ${TINY:+--tiny} --json "$records"; }

part_pytorch() {
    command -v python3 >/dev/null || return 78
    python3 -c 'import torch' 2>/dev/null || { echo "python3 has no PyTorch" && return 78; }
    python3 "$root/share/gpu/compare_pytorch.py" --program "$program" --json "$records" --seconds "${LIMIT:-100}"
}

part_sanitizer() {
    sanitizer=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}"/bin/compute-sanitizer 2>/dev/null ||
        ls "${CUDA_HOME:-/usr/local/cuda}"/compute-sanitizer/compute-sanitizer 2>/dev/null)
    [ -n "$sanitizer" ] || { echo "no compute-sanitizer here" && return 78; }
    "$program" check --tiny >/dev/null || return $?
    for tool in memcheck racecheck; do
        "$sanitizer" --tool $tool --error-exitcode 3 "$program" check --tiny --json /dev/null || return 3
        echo "{\"part\": \"sanitizer\", \"tool\": \"$tool\", \"passed\": true}" >>"$records"
    done
}

# Builds while the device works for other parts.
part_library_build() {
    gtest=OFF
    [ -e /usr/include/gtest/gtest.h ] || [ -e "$carried/include/gtest/gtest.h" ] && gtest=ON
    set -- -DSURROGATE_MPI=OFF -DSURROGATE_PETSC=OFF -DSURROGATE_VTK=OFF -DSURROGATE_CUDA=ON -DSURROGATE_EXAMPLES=OFF \
        -DSURROGATE_TESTS=$gtest "-DSURROGATE_CUDA_ARCHITECTURES=$(architectures)"
    [ ! -d "$carried" ] || set -- "$@" "-DCMAKE_PREFIX_PATH=$carried"
    cmake -G "$(generator)" -S "$root" -B "$BUILD/library" "$@" || return 78
    cmake --build "$BUILD/library" -j "$n_core" --target surrogate_program surrogate_cuda || return 1
    [ $gtest = OFF ] || cmake --build "$BUILD/library" -j "$n_core" --target device_tests
}

part_library() {
    # The build runs beside other parts; its status comes with its end.
    while [ ! -e "$BUILD/library.status" ]; do sleep 1; done
    status=$(cat "$BUILD/library.status")
    [ "$status" -eq 0 ] || { tail -n 5 "$OUT/library_build.log" && return "$status"; }
    "$program" limits --tiny >/dev/null || return $?
    failed=0
    for file in "$root"/tests/data/flare/*.safetensors "$root/share/models/darcy_flow.safetensors"; do
        for precision in fp32 tf32 fp16 bf16; do
            "$BUILD/library/bin/surrogate" check "$file" --backend cuda --precision $precision --json "$OUT/golden.json"
            status=$?
            [ $status -ne 3 ] || continue # no check case in this file
            [ $status -eq 0 ] || failed=1
            echo "{\"part\": \"golden\", \"file\": \"$(basename "$file")\", \"precision\": \"$precision\"," \
                "\"passed\": $([ $status -eq 0 ] && echo true || echo false)}" >>"$records"
        done
    done
    if [ -e "$BUILD/library/tests/CTestTestfile.cmake" ]; then
        ctest --test-dir "$BUILD/library" -L gpu --output-on-failure || failed=1
    fi
    return $failed
}

# One part, in a process of its own: sh run.sh --part <name>
if [ "${1:-}" = --part ]; then
    "part_$2"
    exit $?
fi

# clock_record <when>
clock_record() {
    clocks=$(gpu_query clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw)
    [ -z "$clocks" ] || echo "$clocks" | awk -F', *' -v when="$1" '{
        printf "{\"part\": \"clock\", \"when\": \"%s\", \"sm_MHz\": %d, \"memory_MHz\": %d, \"most_sm_MHz\": %d, ", when, $1, $2, $3
        printf "\"celsius\": %d, \"watt\": %d}\n", $4, $5 }' >>"$records"
}

report() {
    command -v python3 >/dev/null || return 0
    python3 "$root/share/gpu/report.py" "$records" "$OUT/device.json" "$OUT/device.md"
}

begin=$(date +%s)
any_failed=0
elapsed() { echo $(($(date +%s) - begin)); }

# step <part> <seconds>
step() {
    case " ${SKIP:-} " in *" $1 "*) is_skipped=1 ;; *) is_skipped=0 ;; esac
    case " ${PARTS:-$1} " in *" $1 "*) ;; *) is_skipped=1 ;; esac
    limit=$((${BUDGET:-470} - $(elapsed)))
    most=$(($2 * ${SLOW:-1}))
    [ "$limit" -lt "$most" ] || limit=$most
    started=$(date +%s)
    if [ $is_skipped -eq 1 ]; then
        result=skipped
    elif [ "$limit" -lt 5 ]; then
        result="no time left"
        any_failed=1
    else
        LIMIT=$limit timeout -k 5 "$limit" sh "$0" --part "$1" >"$OUT/$1.log" 2>&1
        status=$?
        case $status in
        0) result=passed ;;
        77) result="no device" ;;
        78) result="not here: $(tail -n 1 "$OUT/$1.log" | tr -d '"\\' | cut -c 1-120)" ;;
        124 | 137) result="stopped after $limit s" ;;
        *) result="failed, status $status" ;;
        esac
        is_done $status || { any_failed=1 && tail -n 20 "$OUT/$1.log"; }
    fi
    seconds=$(($(date +%s) - started))
    echo "$1: $result ($seconds s)"
    echo "{\"part\": \"step\", \"step\": \"$1\", \"result\": \"$result\", \"seconds\": $seconds}" >>"$records"
    report
}

: >"$records"
echo "{\"part\": \"software\", \"nvcc\": \"$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')\"," \
    "\"driver\": \"$(gpu_query driver_version)\", \"cmake\": \"$(cmake --version 2>/dev/null | sed -n 's/cmake version //p')\"," \
    "\"commit\": \"$(git -C "$root" rev-parse --short HEAD 2>/dev/null)\", \"date\": \"$(date +%F)\"}" >>"$records"

step build 240
if [ ! -x "$program" ]; then
    echo "nothing was built: see $OUT/build.log"
    exit 1
fi
rm -f "$BUILD/library.status"
case " ${SKIP:-} " in
*" library "*) builder= ;;
*)
    (
        timeout $((300 * ${SLOW:-1})) nice -n 10 sh "$0" --part library_build >"$OUT/library_build.log" 2>&1
        echo $? >"$BUILD/library.status"
    ) &
    builder=$!
    ;;
esac
trap '[ -z "$builder" ] || kill "$builder" 2>/dev/null' EXIT

step check 60
clock_record "before times"
step limits 20
step time 90
clock_record "after times"
step pytorch 130
step sanitizer 60
step library 300
echo "results: $OUT/device.md, $OUT/device.json ($(elapsed) s)"
exit $any_failed
