// SPDX-License-Identifier: Apache-2.0
// FLARE on many small clouds, in alternation with one large cloud and with one run per cloud:
//   build/bin/many_clouds [--clouds 1000] [--points 192,200,64,20] [--rounds 7] [--threads 2]
//                         [--blocks 8] [--latents 128] [--reproducible false] [--only batch]
// A plan of all clouds is compared with a plan of one cloud of as many points, and with runs of a
// plan of one cloud, which is called once per cloud. Prints medians of seconds, of their ratios
// (lowest to highest) and of ratios of processor seconds of all threads, which other programs on
// the machine change least. Before it measures, results are compared. Build with
// -DSURROGATE_BENCHMARKS=ON.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/scaling/flare_case.hpp"
#include "surrogate/surrogate.hpp"

namespace {

using namespace surrogate;

/// Points of `n_cloud` clouds, or of one, and their plan.
class Run {
public:
    Run(const Context& context, const Model& model, int64_t n_point, int64_t n_cloud,
        const Options& options)
        : x_(bench::make_inputs(n_point)),
          y_(static_cast<size_t>(n_point)),
          ids_(y_.size()),
          clouds_(y_.size()),
          domain_(nullptr),
          plan_(nullptr) {
        for (int64_t i = 0; i < n_point; ++i) {
            ids_[static_cast<size_t>(i)] = i;
            clouds_[static_cast<size_t>(i)] = i * n_cloud / n_point;
        }
        const surrogate_points points{matrix(x_.data(), n_point, 0), ids_.data(),
                                      n_cloud > 1 ? clouds_.data() : nullptr, nullptr};
        domain_ = Domain(context, points);
        plan_ = Plan(model, domain_, options);
    }
    void run() { run(x_.data(), y_.data()); }
    /// The plan on other points.
    void run(float* x, float* y) {
        const int64_t n = std::ssize(y_);
        const surrogate_named_array in{"x", matrix(x, n, 3)}, out{"y", column(y, n)};
        check(surrogate_plan_run_network(plan_.get(), 1, &in, 1, &out));
    }
    std::vector<float>& x() { return x_; }
    std::vector<float>& y() { return y_; }
    const Plan& plan() const { return plan_; }

private:
    std::vector<float> x_, y_;
    std::vector<int64_t> ids_, clouds_;
    Domain domain_;
    Plan plan_;
};

struct Seconds {
    std::vector<double> wall, processor;

    template <class Work>
    void add(const Work& work) {
        const auto begin = std::chrono::steady_clock::now();
        const std::clock_t processor_begin = std::clock();
        work();
        wall.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        processor.push_back(static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC);
    }
};

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// Sorted ratios of paired seconds.
std::vector<double> ratios_of(const std::vector<double>& clouds, const std::vector<double>& other) {
    std::vector<double> ratios;
    for (size_t i = 0; i < clouds.size(); ++i) ratios.push_back(other[i] / clouds[i]);
    std::ranges::sort(ratios);
    return ratios;
}

void print_ratios(const char* what, const Seconds& clouds, const Seconds& other) {
    const std::vector<double> wall = ratios_of(clouds.wall, other.wall);
    std::printf("  %-24s %8.3f s, %6.3f times the clouds (%.3f to %.3f); processor %6.3f times\n",
                what, median(other.wall), median(wall), wall.front(), wall.back(),
                median(ratios_of(clouds.processor, other.processor)));
}

using Arguments = std::map<std::string, std::string>;

void measure(const Context& context, const Model& model, int64_t n_cloud, int64_t n,
             const Arguments& arguments) {
    const Options options{{"reproducible", arguments.at("reproducible")}};
    Run clouds(context, model, n_cloud * n, n_cloud, options);
    Run one(context, model, n_cloud * n, 1, options), small(context, model, n, 1, options);
    std::vector<float> y(clouds.y().size());
    const auto run_each = [&] {
        for (int64_t c = 0; c < n_cloud; ++c)
            small.run(clouds.x().data() + 3 * c * n, y.data() + c * n);
    };
    clouds.run();
    run_each();
    double difference = 0;
    for (size_t i = 0; i < y.size(); ++i)
        difference = std::max(difference, std::abs(double{y[i]} - double{clouds.y()[i]}));
    std::printf("%lld clouds of %lld points, largest difference from one run per cloud %.1e\n",
                static_cast<long long>(n_cloud), static_cast<long long>(n), difference);
    one.run();
    Seconds batch, large, each;
    for (int round = 0; round < std::atoi(arguments.at("rounds").c_str()); ++round) {
        batch.add([&] { clouds.run(); });
        if (arguments.at("only") == "batch") continue;
        large.add([&] { one.run(); });
        each.add(run_each);
    }
    std::printf("  %-24s %8.3f s, %.2f microseconds per point and core, %.1f MB\n", "clouds",
                median(batch.wall),
                1e6 * median(batch.processor) / static_cast<double>(n_cloud * n),
                1e-6 * static_cast<double>(clouds.plan().counter("workspace_bytes")));
    if (!large.wall.empty()) {
        print_ratios("one cloud of all points", batch, large);
        print_ratios("one run per cloud", batch, each);
    }
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments = {{"clouds", "1000"},        {"points", "192,200,64,20"},
                           {"rounds", "7"},           {"threads", "2"},
                           {"blocks", "8"},           {"latents", "128"},
                           {"reproducible", "false"}, {"only", ""}};
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string key = std::string(argv[i]).substr(2);
        if (!arguments.contains(key)) return std::fprintf(stderr, "no option %s\n", argv[i]), 2;
        arguments[key] = argv[i + 1];
    }
    const bench::FlareCase flare(std::atoi(arguments["blocks"].c_str()),
                                 std::atoll(arguments["latents"].c_str()));
    const Context context(Options{{"threads", arguments["threads"]}});
    const Model model(context, flare.path());
    std::istringstream sizes(arguments["points"]);
    for (std::string n; std::getline(sizes, n, ',');)
        measure(context, model, std::atoll(arguments["clouds"].c_str()), std::atoll(n.c_str()),
                arguments);
}
