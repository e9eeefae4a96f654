#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks and times our device code on a machine that has a device, nvcc, CMake, a C++ compiler and little else.
#
#     sh share/gpu/run.sh                                      results in gpu-results/, see below
#     OUT=/tmp/r SKIP="sanitizer pytorch" sh share/gpu/run.sh  somewhere else, without these parts
#     PARTS="build check" sh share/gpu/run.sh                  these parts alone
#     COMMIT=$(git rev-parse HEAD) sh share/gpu/run.sh         says what is tested, where the tree comes without its history
#     BUILT=1 sh share/gpu/run.sh                              builds nothing: the programs lie in BUILD, brought from elsewhere
#
# Parts, each with its own limit of time; results are written as they come, and a part that fails stops no other:
#   build      benchmarks/device (device code, the reference, a main of its own), for this device alone
#   check      every pass against the reference in double: awkward sizes, all operands, bitwise identical when repeated
#   limits     rates of copies, exponentials and products, which times are measured against
#   time       each pass, one block, eight blocks, launched one by one and as a graph; N from 10,000 to 1,000,000
#   profile    Nsight Compute's counters of encode and decode, if it is there: not how slow, but why
#   pytorch    the same block in PyTorch in turns with ours, if python3 has PyTorch
#   library    the library on one rank: golden files by `surrogate check`, times of runs by `surrogate bench`, tests of
#              devices. Needs nlohmann-json, CLI11, Highway and xxHash, and GoogleTest for the tests: here, or carried
#              (share/gpu/carry.sh). Built after `time`
#   families   whole models of every family, beside PyTorch if python3 has it; HEPT_CODE: the folder `example` of the authors' code
#   sanitizer  small checks, some of which turn every loop, under compute-sanitizer's racecheck, memcheck and synccheck; then
#              tests of all families, if `library` has built them, under memcheck and racecheck
# In all at most BUDGET seconds, 540 if not set; SLOW=5 gives every part five times its limit (a machine of few cores, with
# BUDGET to match); TINY=1 small sizes, to try the script. Exit status 1 if a part failed. Without a device everything is
# built and each part says so; a device that nvidia-smi lists and no program can use is a failure.
#
# Results are four files, so that a machine that returns only a few files returns all of them: device.md (a page),
# device.json, records.jsonl (from which both are made) and logs.tar.gz (the output of every part, reports of the profiler).
# All of them are written again after every part and when the run is stopped.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
OUT=${OUT:-gpu-results}
BUILD=${BUILD:-build-device}
mkdir -p "$OUT" "$BUILD/logs"
OUT=$(cd "$OUT" && pwd)
BUILD=$(cd "$BUILD" && pwd)
export OUT BUILD
records=$OUT/records.jsonl
logs=$BUILD/logs
program=${PROGRAM:-$BUILD/passes/device_passes} # PROGRAM: another one, to try the script
carried=$root/share/gpu/carried
n_core=$(nproc)

# The toolkit is often installed beside the PATH, NCCL inside Python's packages.
CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
PATH=$PATH:$CUDA_HOME/bin
if ! command -v nvcc >/dev/null; then
    pip_nvcc=$(python3 -c 'import glob, nvidia; print(*(f for p in nvidia.__path__ for f in glob.glob(p + "/*/bin/nvcc")), sep="\n")' \
        2>/dev/null | head -n 1) || pip_nvcc=
    [ -z "$pip_nvcc" ] || CUDA_HOME=${pip_nvcc%/bin/nvcc} PATH=$PATH:${pip_nvcc%/nvcc}
fi
nccl=$(python3 -c 'import nvidia.nccl as n; print(list(n.__path__)[0] + "/lib")' 2>/dev/null) || nccl=
[ -z "$nccl" ] || LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$nccl
export CUDA_HOME PATH LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"
[ -n "${CUDACXX:-}" ] || ! command -v nvcc >/dev/null || export CUDACXX="$(command -v nvcc)"

# has_device: nvidia-smi lists one. A part that finds none all the same has failed: the driver is too old, the device is
# of an architecture that was not compiled, or it is hidden from this process.
has_device() { nvidia-smi -L 2>/dev/null | grep -q '^GPU '; }

# Status of a part: 0 passed, 77 no device, 78 something it needs is not here, else failed.
is_done() { [ "$1" -eq 0 ] || [ "$1" -eq 78 ] || { [ "$1" -eq 77 ] && ! has_device; }; }

# gpu_query <field>: one field of nvidia-smi for the first device that is visible to programs, or nothing.
gpu_query() {
    visible=${CUDA_VISIBLE_DEVICES:-0}
    nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits -i "${visible%%,*}" 2>/dev/null | head -n 1 || true
}

# Prints the architecture to compile for: the one of the device, or all that are shipped. A device that nvcc does not know
# yet gets PTX, which the driver compiles.
architectures() {
    capability=$(gpu_query compute_cap | tr -d .)
    case $capability in
    90) echo 90a-real ;;
    8?) echo 80-real ;;
    [1-9][0-9][0-9]) nvcc --list-gpu-arch 2>/dev/null | grep -qx "compute_$capability" && echo "$capability-real" || echo 80 ;;
    *) echo "80;90a-real" ;;
    esac
}

generator() { command -v ninja >/dev/null && echo Ninja || echo "Unix Makefiles"; }

# host_compiler_works [<compiler>]: nvcc takes it; without a name its own choice.
host_compiler_works() {
    echo '#include <ranges>' >"$BUILD/host_compiler.cu"
    nvcc -std=c++20 ${1:+-ccbin "$1"} -c "$BUILD/host_compiler.cu" -o "$BUILD/host_compiler.o"
}

# A toolkit rejects host compilers that are newer than itself: use an older one beside it, or switch the check off.
choose_host_compiler() {
    if [ -n "${CUDAHOSTCXX:-}" ] || host_compiler_works; then return; fi
    for version in 14 13 12 11; do
        command -v "g++-$version" >/dev/null && host_compiler_works "g++-$version" || continue
        echo "host compiler: g++-$version"
        CUDAHOSTCXX=$(command -v "g++-$version") && export CUDAHOSTCXX
        return
    done
    echo "host compiler: nvcc's own choice, which it does not support"
    export NVCC_APPEND_FLAGS="${NVCC_APPEND_FLAGS:-} -allow-unsupported-compiler"
}

# cmake_is_new: as the projects demand.
cmake_is_new() {
    version=$(cmake --version 2>/dev/null | sed -n 's/cmake version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    [ -n "$version" ] && [ $((${version% *} * 1000 + ${version#* })) -ge 3025 ]
}

# gencode: the options of nvcc for architectures().
gencode() {
    architectures | tr ';' '\n' | while read -r one; do
        number=${one%-real}
        case $one in
        *-real) echo "-gencode=arch=compute_$number,code=sm_$number" ;;
        *) echo "-gencode=arch=compute_$number,code=[compute_$number,sm_$number]" ;;
        esac
    done
}

# The same program as benchmarks/device/CMakeLists.txt builds, by nvcc alone.
build_by_nvcc() {
    folder=$BUILD/passes
    mkdir -p "$folder"
    images=$(architectures | tr ';' ' ')
    grep -v '^#' "$root/benchmarks/device/sources.txt" | sed "s|^|$root/|" >"$folder/sources"
    # One compiler a core; gencode stands for several words.
    # shellcheck disable=SC2046
    xargs -P "$n_core" -I '{}' sh -c 'source={}; exec nvcc "$@" -c "$source" -o "$0/$(basename "$source").o"' "$folder" \
        -std=c++20 -O3 -DNDEBUG --expt-relaxed-constexpr -Xcompiler=-ffp-contract=off,-ffunction-sections -I "$root" \
        -DSURROGATE_FLARE_VARIANTS "-DSURROGATE_CUDA_IMAGES=\"$images\"" $(gencode) <"$folder/sources" || return 1
    nvcc -cudart static -Xlinker=--gc-sections "$folder"/*.o -o "$folder/device_passes" -ldl -lrt -lpthread
}

part_build() {
    choose_host_compiler
    if ! cmake_is_new; then
        echo "CMake is missing or older than 3.25: nvcc builds the program"
        build_by_nvcc
        return
    fi
    cmake -G "$(generator)" -S "$root/benchmarks/device" -B "$BUILD/passes" -DCMAKE_BUILD_TYPE=Release \
        "-DSURROGATE_CUDA_ARCHITECTURES=$(architectures)" && cmake --build "$BUILD/passes" -j "$n_core"
}

part_check() { "$program" check ${TINY:+--tiny} --json "$records"; }
part_limits() { "$program" limits ${TINY:+--tiny} --json "$records"; }
part_time() { "$program" time ${TINY:+--tiny} --json "$records"; }

part_pytorch() {
    command -v python3 >/dev/null || return 78
    python3 -c "import torch" 2>/dev/null || { echo "python3 has no PyTorch" && return 78; }
    python3 "$root/share/gpu/compare_pytorch.py" --program "$program" --json "$records" --seconds "${LIMIT:-100}"
}

# tool <name> <place under CUDA_HOME>...: where a tool of the toolkit lies, or nothing.
tool() {
    command -v "$1" && return
    name=$1
    shift
    for place in "$@"; do
        ls -d "$CUDA_HOME"/$place/"$name" 2>/dev/null && return
    done
    ls -d /opt/nvidia/*/*/"$name" 2>/dev/null
}

# Full counters of one launch of each large pass, and where in the machine code its warps wait.
part_profile() {
    ncu=$(tool ncu bin nsight-compute-*/ | tail -n 1)
    [ -n "$ncu" ] || { echo "no Nsight Compute here" && return 78; }
    "$program" limits --tiny >/dev/null || return $?
    failed=0
    for pass in encode decode; do
        report=$logs/ncu_$pass
        echo | "$ncu" --set full --clock-control none --kernel-name "regex:${pass}_kernel" --launch-count 1 --force-overwrite \
            --export "$report" "$program" turns ${TINY:+--tiny} || { failed=1 && continue; }
        "$ncu" --import "$report.ncu-rep" --page details >"$report.txt" || failed=1
        "$ncu" --import "$report.ncu-rep" --page source --csv >"$report.source.csv" || failed=1
        grep -E "Duration|SM Frequency|Executed Ipc Active|Issue Slots Busy|No Eligible|L1/TEX Hit|Registers Per" "$report.txt"
        echo "{\"part\": \"profile\", \"pass\": \"$pass\", \"report\": \"$(basename "$report").txt\"}" >>"$records"
    done
    # Counters may be closed to users: what the tool says stands in the log.
    return $failed
}

# All tools get a share of the time that is left, those that see most first.
part_sanitizer() {
    sanitizer=$(tool compute-sanitizer bin compute-sanitizer | tail -n 1)
    [ -n "$sanitizer" ] || { echo "no compute-sanitizer here" && return 78; }
    "$program" limits --tiny >/dev/null || return $?
    end=$(($(date +%s) + ${LIMIT:-120} - 5))
    tests=$(ls "$BUILD"/library/bin/*_device_tests "$BUILD"/library/bin/device_plan_tests 2>/dev/null)
    passes_end=$end
    [ -z "$tests" ] || passes_end=$(((end + $(date +%s)) / 2))
    failed=0
    n_left=3
    for tool in racecheck memcheck synccheck; do
        share=$(((passes_end - $(date +%s)) / n_left))
        n_left=$((n_left - 1))
        [ $share -gt 0 ] || share=1
        timeout -k 2 $share "$sanitizer" --tool $tool --error-exitcode 3 "$program" check --tiny --json "$logs/$tool.jsonl"
        status=$?
        [ $status -eq 0 ] || failed=3
        seen=$(grep -c '"part": "check"' "$logs/$tool.jsonl" 2>/dev/null)
        echo "{\"part\": \"sanitizer\", \"tool\": \"$tool\", \"passed\": $([ $status -eq 0 ] && echo true || echo false)," \
            "\"stopped\": $([ $status -eq 124 ] && echo true || echo false), \"n_check\": ${seen:-0}}" >>"$records"
    done
    sanitize_families
    return $failed
}

# The tests of the families, if the library was built: their device cases under memcheck and racecheck, in what is left.
sanitize_families() {
    n_left=$(($(echo "$tests" | wc -w) * 2))
    for test in $tests; do
        for tool in memcheck racecheck; do
            share=$(((end - $(date +%s)) / n_left))
            n_left=$((n_left - 1))
            [ $share -gt 0 ] || share=1
            timeout -k 2 $share "$sanitizer" --tool $tool --error-exitcode 3 "$test" '--gtest_filter=*/RealDevice*'
            status=$?
            # A share that is too small is no failure: the record says that the test was stopped.
            [ $status -eq 0 ] || [ $status -eq 124 ] || failed=3
            echo "{\"part\": \"sanitizer\", \"tool\": \"$tool\", \"test\": \"$(basename "$test")\"," \
                "\"passed\": $([ $status -eq 0 ] && echo true || echo false)," \
                "\"stopped\": $([ $status -eq 124 ] && echo true || echo false)}" >>"$records"
        done
    done
}

# Builds while the device works for other parts.
part_library_build() {
    cmake_is_new || { echo "CMake is missing or older than 3.25" && return 78; }
    choose_host_compiler
    gtest=OFF
    [ -e /usr/include/gtest/gtest.h ] || [ -e "$carried/include/gtest/gtest.h" ] && gtest=ON
    benchmarks=OFF
    [ -e /usr/include/benchmark/benchmark.h ] || [ -e "$carried/include/benchmark/benchmark.h" ] && benchmarks=ON
    set -- -DSURROGATE_MPI=OFF -DSURROGATE_PETSC=OFF -DSURROGATE_VTK=OFF -DSURROGATE_CUDA=ON -DSURROGATE_EXAMPLES=OFF \
        -DSURROGATE_TESTS=$gtest -DSURROGATE_BENCHMARKS=$benchmarks "-DSURROGATE_CUDA_ARCHITECTURES=$(architectures)"
    [ ! -d "$carried" ] || set -- "$@" "-DCMAKE_PREFIX_PATH=$carried"
    cmake -G "$(generator)" -S "$root" -B "$BUILD/library" "$@" || return 78
    cmake --build "$BUILD/library" -j "$n_core" --target surrogate_program surrogate_cuda || return 1
    [ $gtest = OFF ] || cmake --build "$BUILD/library" -j "$n_core" --target device_tests || return 1
    [ $benchmarks = OFF ] || cmake --build "$BUILD/library" -j "$n_core" --target device_families
}

# golden <file> <precision>: the check cases of a file; nothing is recorded of a file without a card or a check case, or of a
# network that is not built for devices. Several run at once, so what they say comes in one piece.
golden() {
    said=$("$BUILD/library/bin/surrogate" check "$1" --backend cuda --precision "$2" 2>&1)
    status=$?
    [ $status -ne 3 ] || return 0
    case $said in *"no model card"* | *"is not built for backend 'cuda'"*) return 0 ;; esac
    echo "$1 $2: status $status
$said"
    echo "{\"part\": \"golden\", \"file\": \"$(basename "$1")\", \"precision\": \"$2\"," \
        "\"passed\": $([ $status -eq 0 ] && echo true || echo false)}" >>"$records"
}

part_library() {
    # The build runs beside other parts; its status comes with its end.
    while [ ! -e "$BUILD/library.status" ]; do sleep 1; done
    status=$(cat "$BUILD/library.status")
    [ "$status" -eq 0 ] || { tail -n 5 "$logs/library_build.log" && return "$status"; }
    "$program" limits --tiny >/dev/null || return $?
    failed=0
    for file in "$root"/tests/data/flare/*.safetensors "$root"/tests/data/sequoia/points_*.safetensors \
        "$root"/tests/data/bsa/*.safetensors "$root"/tests/data/hept/*.safetensors \
        "$root"/tests/data/sphere/*former_*.safetensors \
        "$root/share/models/darcy_flow.safetensors" "$root/share/models/shallow_water.safetensors"; do
        # If blocks are chosen, narrow operands change choices: the tests of the family bound what they cost.
        case $file in */bsa/*) precisions=fp32 ;; *) precisions='fp32 tf32 fp16 bf16' ;; esac
        for precision in $precisions; do echo "$file $precision"; done
    done | xargs -P 8 -n 2 sh "$0" --golden
    [ -z "$(grep '"part": "golden".*"passed": false' "$records")" ] || failed=1
    # Times of whole runs: all shipped models, points made up. A model that cannot be timed is recorded, no failure.
    n_point=200000
    [ -z "${TINY:-}" ] || n_point=2000
    for file in "$root"/share/models/*.safetensors; do
        name=$(basename "$file" .safetensors)
        for precision in fp32 fp16; do
            report=$logs/bench_${name}_$precision.json
            "$BUILD/library/bin/surrogate" bench "$file" --backend cuda --precision $precision --points "$n_point" --runs 20 \
                --json "$report" --overwrite
            status=$?
            median=$(sed -n 's/.*"seconds_median": *\([-+.0-9e]*\).*/\1/p' "$report" 2>/dev/null | head -n 1)
            echo "{\"part\": \"bench\", \"file\": \"$name\", \"precision\": \"$precision\"," \
                "\"passed\": $([ $status -eq 0 ] && echo true || echo false), \"seconds_median\": ${median:-null}}" >>"$records"
        done
    done
    if [ -e "$BUILD/library/tests/CTestTestfile.cmake" ]; then
        ctest --test-dir "$BUILD/library" -L gpu -j 4 --output-on-failure || failed=1
    fi
    return $failed
}

part_families() {
    families=$BUILD/library/bin/device_families
    [ -x "$families" ] || { echo "device_families is not built" && return 78; }
    command -v python3 >/dev/null || { echo "no python3 here" && return 78; }
    python3 "$root/share/gpu/compare_families.py" --program "$families" --json "$records" --seconds "${LIMIT:-100}" \
        ${HEPT_CODE:+--hept-code "$HEPT_CODE"}
}

# One part, or one golden file, in a process of its own: sh run.sh --part <name>
case ${1:-} in
--part)
    "part_$2"
    exit $?
    ;;
--golden)
    golden "$2" "$3"
    exit 0
    ;;
esac

# clock_record <when>
clock_record() {
    clocks=$(gpu_query clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw)
    [ -z "$clocks" ] || echo "$clocks" | awk -F', *' -v when="$1" '{
        printf "{\"part\": \"clock\", \"when\": \"%s\", \"sm_MHz\": %d, \"memory_MHz\": %d, \"most_sm_MHz\": %d, ", when, $1, $2, $3
        printf "\"celsius\": %d, \"watt\": %d}\n", $4, $5 }' >>"$records"
}

# Writes the four result files from the current state.
report() {
    tar -C "$BUILD" -czf "$BUILD/logs.tar.gz" logs && mv "$BUILD/logs.tar.gz" "$OUT/logs.tar.gz"
    command -v python3 >/dev/null || return 0
    python3 "$root/share/gpu/report.py" "$records" "$OUT/device.json" "$OUT/device.md"
}

begin=$(date +%s)
any_failed=0
elapsed() { echo $(($(date +%s) - begin)); }

# is_wanted <part>
is_wanted() {
    case " ${SKIP:-} " in *" $1 "*) return 1 ;; esac
    case " ${PARTS:-$1} " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# step <part> <seconds>
step() {
    limit=$((${BUDGET:-540} - $(elapsed)))
    most=$(($2 * ${SLOW:-1}))
    [ "$limit" -lt "$most" ] || limit=$most
    started=$(date +%s)
    if ! is_wanted "$1"; then
        result=skipped
    elif [ "$limit" -lt 5 ]; then
        result="no time left"
        any_failed=1
    else
        # Waited for, so that a signal that stops the run is heard at once.
        LIMIT=$limit timeout -k 5 "$limit" sh "$0" --part "$1" >"$logs/$1.log" 2>&1 &
        running=$!
        wait $running
        status=$?
        running=
        case $status in
        0) result=passed ;;
        77)
            result="no device"
            ! has_device || result="failed: nvidia-smi lists a device, and it cannot be used"
            ;;
        78) result="not here: $(tail -n 1 "$logs/$1.log" | tr -d '"\\' | cut -c 1-120)" ;;
        124 | 137) result="stopped after $limit s" ;;
        *) result="failed, status $status" ;;
        esac
        is_done $status || { any_failed=1 && tail -n 20 "$logs/$1.log"; }
    fi
    seconds=$(($(date +%s) - started))
    echo "$1: $result ($seconds s)"
    echo "{\"part\": \"step\", \"step\": \"$1\", \"result\": \"$result\", \"seconds\": $seconds}" >>"$records"
    report
}

running=
builder=
# A run that is stopped brings home what it has.
stop() {
    for process in $running $builder; do kill "$process" 2>/dev/null; done
    echo "{\"part\": \"step\", \"step\": \"the run\", \"result\": \"stopped\", \"seconds\": $(elapsed)}" >>"$records"
    report
    exit 1
}
trap stop TERM INT HUP
trap '[ -z "$builder" ] || kill "$builder" 2>/dev/null' EXIT

rm -rf "$logs"
mkdir -p "$logs"
: >"$records"
commit=${COMMIT:-$(git -C "$root" rev-parse --short HEAD 2>/dev/null)}
echo "{\"part\": \"software\", \"nvcc\": \"$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')\"," \
    "\"driver\": \"$(gpu_query driver_version)\", \"cmake\": \"$(cmake --version 2>/dev/null | sed -n 's/cmake version //p')\"," \
    "\"nccl\": \"$nccl\", \"commit\": \"$commit\", \"date\": \"$(date +%F)\"}" >>"$records"

if [ -z "${BUILT:-}" ]; then
    step build 240
fi
if [ ! -x "$program" ]; then
    echo "nothing was built: see build.log in $OUT/logs.tar.gz"
    exit 1
fi
step check 60
clock_record "before times"
step limits 20
step time 90
clock_record "after times"

# Builds while the device works for other parts, but not beside the times of small kernels.
rm -f "$BUILD/library.status"
if [ -n "${BUILT:-}" ]; then
    echo 0 >"$BUILD/library.status"
elif is_wanted library || is_wanted families; then
    (
        timeout $((300 * ${SLOW:-1})) nice -n 10 sh "$0" --part library_build >"$logs/library_build.log" 2>&1
        echo $? >"$BUILD/library.status"
    ) &
    builder=$!
fi
step profile 60
step pytorch 130
step library 300
step families 120
step sanitizer 120
echo "results: $OUT/device.md, device.json, records.jsonl, logs.tar.gz ($(elapsed) s)"
exit $any_failed
