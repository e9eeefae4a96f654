#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# share/gpu/run.sh as a machine with a device meets it, with programs that stand in for what is not here:
#     gpu_script_test.sh <case> <run.sh> <folder of its own> <program>
set -u
case=$1 script=$2 folder=$3 program=$4
rm -rf "$folder"
mkdir -p "$folder/tools/bin"
export OUT=$folder/out BUILD=$folder/build TINY=1 SKIP="library pytorch"

fail() {
    echo "FAILED: $*"
    exit 1
}
# The script leaves these few files in every case.
expect_results() {
    found=$(cd "$OUT" && echo *)
    case $found in
    "device.json device.md logs.tar.gz records.jsonl" | "logs.tar.gz records.jsonl") ;;
    *) fail "results are $found" ;;
    esac
}
# expect_log <part> <text>: in the archive.
expect_log() {
    tar -xzOf "$OUT/logs.tar.gz" "logs/$1" | grep -q -e "$2" || fail "no '$2' in $1 of the archive"
}
expect_record() { grep -q -e "$1" "$OUT/records.jsonl" || fail "no record $1"; }

# stand_in <name> <commands>: a program of the toolkit.
stand_in() {
    printf '#!/bin/sh\n%s\n' "$2" >"$folder/tools/bin/$1"
    chmod +x "$folder/tools/bin/$1"
}

case $case in
emulated)
    PROGRAM=$program PARTS="check limits time" sh "$script" || fail "status $?"
    expect_results
    tar -tzf "$OUT/logs.tar.gz" | grep -q logs/check.log || fail "no log in the archive"
    expect_record '"case": "loops of a block".*"n_multiprocessor": 1,.*"passed": true'
    expect_record '"what": "block, graph"'
    ;;
failures)
    PROGRAM=$program PARTS="check limits time" sh "$script" && fail "a failure was not told"
    expect_results
    tar -tzf "$OUT/logs.tar.gz" | grep -q logs/time.log || fail "no log of a part that failed"
    expect_record '"step": "time", "result": "failed, status 1"'
    ;;
tools)
    # Everything beside the paths: nvcc, profiler and sanitizer under CUDA_HOME, NCCL among Python's packages.
    stand_in nvcc 'echo "Cuda compilation tools, release 99.8, V99.8.7"'
    stand_in ncu 'case "$*" in *--export*) while [ "$1" != --export ]; do shift; done
        [ "$(wc -l)" -eq 1 ] && : >"$2.ncu-rep" ;;
        *) [ -e "$2" ] && echo "Executed Ipc Active 1.23 of $*" ;; esac'
    stand_in compute-sanitizer 'tool=$2; shift 4; echo "$tool runs $*" && [ $tool != synccheck ] && "$@"'
    stand_in device_passes 'echo "$1 finds $LD_LIBRARY_PATH by $CUDACXX"
        while [ $# -gt 1 ]; do [ "$1" != --json ] || echo "{\"part\": \"check\", \"passed\": true, \"operand\": \"fp16\"}" >>"$2"; shift; done'
    mkdir -p "$BUILD/library/bin"
    printf '#!/bin/sh\n' >"$BUILD/library/bin/bsa_device_tests"
    chmod +x "$BUILD/library/bin/bsa_device_tests"
    mkdir -p "$folder/python/nvidia/nccl/lib"
    touch "$folder/python/nvidia/nccl/__init__.py"
    PYTHONPATH=$folder/python CUDA_HOME=$folder/tools PATH=/usr/bin:/bin COMMIT=feed5eed PROGRAM=$folder/tools/bin/device_passes \
        PARTS="check profile sanitizer" sh "$script" >"$folder/said" && fail "synccheck's failure was not told"
    cat "$folder/said"
    expect_results
    expect_record '"nvcc": "99.8".*"commit": "feed5eed"'
    expect_log check.log "check finds .*$folder/python/nvidia/nccl/lib by $folder/tools/bin/nvcc"
    for pass in encode decode; do
        expect_log ncu_$pass.txt "Executed Ipc Active.*ncu_$pass.ncu-rep --page details"
        expect_log ncu_$pass.source.csv "page source"
        expect_record "\"part\": \"profile\", \"pass\": \"$pass\""
    done
    expect_log sanitizer.log "racecheck runs .*check --tiny"
    expect_record '"tool": "memcheck", "passed": true, "stopped": false, "n_check": 1'
    expect_record '"tool": "synccheck", "passed": false'
    expect_log sanitizer.log "racecheck runs .*/bsa_device_tests --gtest_filter=.*RealDevice"
    expect_record '"tool": "memcheck", "test": "bsa_device_tests", "passed": true, "stopped": false'
    grep '"step":' "$OUT/records.jsonl" | tail -n 1 | grep -q '"step": "sanitizer", "result": "failed' ||
        fail "the sanitizer was not the last part"
    ;;
broken)
    # A device that nvidia-smi lists and programs cannot use is a failure; without one the same status is none.
    stand_in device_passes 'echo "no CUDA device here"; exit 77'
    export PATH=$folder/tools/bin:$PATH PROGRAM=$folder/tools/bin/device_passes PARTS=check
    stand_in nvidia-smi 'exit 9'
    sh "$script" || fail "a machine without a device failed"
    expect_record '"step": "check", "result": "no device"'
    stand_in nvidia-smi 'case "$*" in -L) echo "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)" ;; *) echo 9.0 ;; esac'
    sh "$script" && fail "a device that cannot be used was no failure"
    expect_record '"step": "check", "result": "failed: nvidia-smi lists a device, and it cannot be used"'
    ;;
driver)
    # The program under drivers that stand in: one that counts no devices, and one that is too old for this build.
    for driver in none old; do
        mkdir -p "$folder/$driver"
        cc -shared -fPIC -o "$folder/$driver/libcuda.so.1" "$(dirname "$0")/driver_$driver.c" || fail "no compiler"
    done
    LD_LIBRARY_PATH=$folder/none "$program" limits --tiny 2>"$folder/said"
    [ $? -eq 77 ] || fail "status without a device: $(cat "$folder/said")"
    grep -q "no CUDA device here: .*(cudaErrorNoDevice)" "$folder/said" || fail "$(cat "$folder/said")"
    LD_LIBRARY_PATH=$folder/old "$program" limits --tiny 2>"$folder/said"
    [ $? -eq 1 ] || fail "status under a driver that is too old: $(cat "$folder/said")"
    grep -q "built for CUDA [0-9.]* (driver [0-9.]* or newer), the installed driver supports CUDA up to 11.8; update" \
        "$folder/said" || fail "$(cat "$folder/said")"
    ;;
build)
    # The part `build` reports its architectures, nvcc and host compiler.
    export PATH=$folder/tools/bin:$PATH PARTS=build
    stand_in cmake 'case "$1" in --version) echo "cmake version $(cat '"$folder"'/cmake_version)" ;; *) echo "cmake $* with $CUDAHOSTCXX" ;; esac'
    stand_in nvcc 'case "$*" in --version) ;; --list-gpu-arch) echo compute_90; echo compute_100 ;;
        *host_compiler*) case "$* $NVCC_APPEND_FLAGS" in *"$(cat '"$folder"'/host)"*) ;; *) exit 1 ;; esac ;;
        *-o*) echo "nvcc $* with $CUDAHOSTCXX $NVCC_APPEND_FLAGS"; while [ "$1" != -o ]; do shift; done; echo "exit 0" >"$2"; chmod +x "$2" ;; esac'
    stand_in nvidia-smi 'case "$*" in -L) echo "GPU 0: a device" ;; *compute_cap*) cat '"$folder"'/capability ;; esac'
    for name in g++-13 g++-12; do stand_in $name ''; done
    # run <CMake's version> <capability> <what the host compiler must match>
    run() {
        echo "$1" >"$folder/cmake_version"
        echo "$2" >"$folder/capability"
        echo "$3" >"$folder/host"
        rm -rf "$BUILD"
        mkdir -p "$BUILD/logs"
        sh "$script" >"$folder/said"
    }
    run 3.25.1 9.0 ""
    expect_log build.log "cmake .*-DSURROGATE_CUDA_ARCHITECTURES=90a-real with $"
    run 3.31.0 10.0 "-ccbin g++-12"
    expect_log build.log "cmake .*-DSURROGATE_CUDA_ARCHITECTURES=100-real with $folder/tools/bin/g++-12"
    run 4.0.2 12.0 "-allow-unsupported-compiler"
    expect_log build.log "cmake .*-DSURROGATE_CUDA_ARCHITECTURES=80 with"
    # Without nvcc on the path, the nvcc of a Python package is used.
    mkdir -p "$folder/python/nvidia/cu13/bin"
    mv "$folder/tools/bin/nvcc" "$folder/python/nvidia/cu13/bin"
    export PYTHONPATH=$folder/python CUDA_HOME=$folder/nowhere PATH=$folder/tools/bin:/usr/bin:/bin
    run 3.22.1 8.6 "" || fail "nothing was built without CMake: $(cat "$folder/said")"
    expect_log build.log "nvcc builds the program"
    expect_log build.log "nvcc .*-gencode=arch=compute_80,code=sm_80 .*flare_encode_cuda.cu"
    [ -x "$BUILD/passes/device_passes" ] || fail "nvcc built no program"
    # The real sources are all that CMake's list names.
    n=$(wc -l <"$BUILD/passes/sources")
    while read -r source; do [ -e "$source" ] || fail "no source $source"; done <"$BUILD/passes/sources"
    [ "$n" -ge 20 ] || fail "$n sources"
    ;;
library)
    # Golden files and times of runs, and a model that cannot be timed.
    stand_in cmake 'case "$1" in --version) echo "cmake version 3.31.0" ;; esac'
    stand_in device_passes ''
    mkdir -p "$BUILD/library/bin"
    printf '#!/bin/sh\n%s\n' 'case "$*" in "bench "*tracking*) exit 2 ;; "bench "*)
        while [ "$1" != --json ]; do shift; done; echo "{ \"seconds_median\": 0.0025 }" >"$2" ;; esac' >"$BUILD/library/bin/surrogate"
    chmod +x "$BUILD/library/bin/surrogate"
    printf '#!/bin/sh\n%s\n' 'echo "{\"part\": \"family\", \"case\": \"$1\", \"operand\": \"$2\", \"ms\": 1.5, \"error\": 1e-4}"' \
        >"$BUILD/library/bin/device_families"
    chmod +x "$BUILD/library/bin/device_families"
    SKIP=pytorch PATH=$folder/tools/bin:$PATH PROGRAM=$folder/tools/bin/device_passes PARTS="library families" BUILT=1 \
        sh "$script" || fail "status $?"
    expect_record '"part": "family", "case": "flare", "operand": "tf32", "ms": 1.5'
    grep -q '| flare | tf32 | 1.500 |' "$OUT/device.md" || fail "no whole models on the page: $(cat "$OUT/device.md")"
    expect_record '"part": "golden", "file": "tiny.safetensors", "precision": "bf16", "passed": true'
    expect_record '"part": "bench", "file": "darcy_flow", "precision": "fp16", "passed": true, "seconds_median": 0.0025'
    expect_record '"part": "bench", "file": "tracking", "precision": "fp32", "passed": false, "seconds_median": null'
    grep -q '| darcy_flow | fp16 | 2.5' "$OUT/device.md" || fail "no times of runs on the page: $(cat "$OUT/device.md")"
    grep -q '| tracking | fp32 | not timed' "$OUT/device.md" || fail "nothing of a model without times"
    ;;
stopped)
    # A machine that ends the run while a part is under way.
    stand_in device_passes '[ "$1" = check ] && echo "checks done" && exit 0; echo "limits begun"; touch "$0.begun"; exec sleep 300'
    PROGRAM=$folder/tools/bin/device_passes PARTS="check limits time" sh "$script" &
    run=$!
    for i in $(seq 600); do
        [ ! -e "$folder/tools/bin/device_passes.begun" ] || break
        sleep 0.1
    done
    tar -tzf "$OUT/logs.tar.gz" >/dev/null || fail "no archive before the end"
    kill -TERM $run
    wait $run && fail "a stopped run was a success"
    expect_results
    expect_log check.log "checks done"
    expect_log limits.log "limits begun"
    expect_record '"step": "the run", "result": "stopped"'
    ;;
turns)
    # One process that times a block for each line it is sent.
    n=$(printf 'a\nb\nc\n' | "$program" turns --tiny | grep -c '"what": "block",')
    [ "$n" -eq 3 ] || fail "3 lines brought $n times"
    echo | "$program" turns --only 'no such case' && fail "a case that is not there was timed"
    ;;
built)
    # ctest runs only the programs that the script has built; here `program` is the build folder.
    cat "$program"/tests/*/CTestTestfile.cmake | awk -F'"' '
        /^add_test/ { path = $2 }
        /LABELS "gpu"/ { print path }' >"$folder/run"
    [ "$(wc -l <"$folder/run")" -ge 4 ] || fail "few tests have the label gpu: $(cat "$folder/run")"
    ninja -C "$program" -t query tests/device_tests >"$folder/inputs" || fail "no target device_tests"
    while read -r path; do
        grep -q "bin/$(basename "$path")\$" "$folder/inputs" || fail "device_tests does not build $path"
    done <"$folder/run"
    ;;
*) fail "no case $case" ;;
esac
echo "passed: $case"
