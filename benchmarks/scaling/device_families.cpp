// SPDX-License-Identifier: Apache-2.0
// Whole models of every family on a device, for share/gpu/compare_families.py:
//   device_families MODEL PRECISION [turns|once]
// MODEL as in named_case.hpp, PRECISION of backend cuda. Prints one line of JSON: bytes of the plan
// on the device, ms of planning, and ms, least_ms of a run with inputs and outputs in host memory;
// error, relative L2 distance of the outputs from backend simd in fp32, and error_median, the
// median difference over the root mean square, because precisions differ in choices of blocks and
// buckets in near ties. With `turns` it then prints the ms of one more run for each line that it
// reads; with `once` it runs twice and prints nothing, for a profiler. Exit status 77: no device
// here.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/device/record.hpp"
#include "benchmarks/scaling/named_case.hpp"

namespace {

using namespace surrogate;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

template <class Work>
double ms_of(const Work& work) {
    const auto begin = Clock::now();
    work();
    return ms_since(begin);
}

struct Distance {
    double relative, median;
};

/// Returns the distances of `y` from `truth`, over the root mean square of `truth`.
Distance distance_of(const std::vector<float>& y, const std::vector<float>& truth) {
    std::vector<double> difference;
    double size = 0, sum = 0;
    for (size_t i = 0; i < y.size(); ++i) {
        difference.push_back(std::abs(double{y[i]} - double{truth[i]}));
        sum += difference.back() * difference.back();
        size += double{truth[i]} * double{truth[i]};
    }
    const double n = static_cast<double>(y.size());
    auto middle = difference.begin() + std::ssize(difference) / 2;
    std::nth_element(difference.begin(), middle, difference.end());
    return {std::sqrt(sum / size), *middle / std::sqrt(size / n)};
}

template <class Run, class... Arguments>
void time_case(const std::string& what, const std::string& precision, const std::string& how,
               const Arguments&... with) {
    const Context context{};
    std::optional<Run> ours;
    const double planning_ms = ms_of([&] {
        ours.emplace(context, with..., Options{{"backend", "cuda"}, {"precision", precision}});
    });
    ours->run();
    if (how == "once") return ours->run();
    Run truth(context, with..., Options{{"backend", "simd"}});
    truth.run();
    const Distance error = distance_of(ours->y(), truth.y());
    std::vector<double> ms;
    for (double total = 0; ms.size() < 5 || (total < 500 && ms.size() < 50); total += ms.back())
        ms.push_back(ms_of([&] { ours->run(); }));
    std::ranges::sort(ms);
    benchmarks::Record("family")
        .add("case", what)
        .add("operand", precision)
        .add("n_point", ours->plan().counter("points_local"))
        .add("error", error.relative)
        .add("error_median", error.median)
        .add("n_byte", ours->plan().counter("workspace_bytes"))
        .add("planning_ms", planning_ms)
        .add("ms", ms[ms.size() / 2])
        .add("least_ms", ms.front())
        .write(stdout);
    for (std::string line; how == "turns" && std::getline(std::cin, line);)
        benchmarks::Record("time").add("ms", ms_of([&] { ours->run(); })).write(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "", precision = argc > 2 ? argv[2] : "";
    if (argc < 3 || std::ranges::count(bench::cases, what) == 0) {
        std::cerr << "usage: device_families "
                     "flare|neighborhood|global|bsa|group_compression|sequoia|hept "
                     "fp32|tf32|fp16|bf16 [turns|once]\n";
        return 2;
    }
    try {
        bench::with_case(what, [&]<class Run>(const auto&... with) {
            time_case<Run>(what, precision, argc > 3 ? argv[3] : "", with...);
        });
    } catch (const std::exception& problem) {
        std::cerr << problem.what() << '\n';
        return std::string(problem.what()).find("no CUDA device") != std::string::npos ? 77 : 1;
    }
    return 0;
}
