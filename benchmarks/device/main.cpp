// SPDX-License-Identifier: Apache-2.0
/// Checks and times FLARE's device passes separately, for a machine that has a device and few
/// packages:
///     device_passes check|limits|time|turns [--json FILE] [--device N] [--tiny] [--only CASE]
///         [--variant N]
/// Results are records of JSON, one per line. Exit status: 0, 1 if a check or the device failed, 2
/// for wrong usage, 77 if there is no device. A device that cannot be used (by this driver, or this
/// build) is a failure.
#include <cstring>
#include <exception>
#include <iostream>

#include "benchmarks/device/program.hpp"
#include "benchmarks/device/record.hpp"
#include "kernels/base/error.hpp"

namespace surrogate::benchmarks {
namespace {

struct Arguments {
    Options options;
    int device = -1;
    bool is_good = false;
};

Arguments parse(int argc, char** argv) {
    Arguments arguments;
    if (argc < 2) return arguments;
    arguments.options.command = argv[1];
    for (int i = 2; i < argc; ++i) {
        const std::string key = argv[i];
        const bool has_value = i + 1 < argc;
        if (key == "--tiny") {
            arguments.options.is_tiny = true;
        } else if (key == "--json" && has_value) {
            arguments.options.json = std::fopen(argv[++i], "a");
            if (!arguments.options.json) return arguments;
        } else if (key == "--device" && has_value) {
            arguments.device = std::atoi(argv[++i]);
        } else if (key == "--variant" && has_value) {
            arguments.options.variant = std::atoi(argv[++i]);
        } else if (key == "--only" && has_value) {
            arguments.options.only = argv[++i];
        } else {
            return arguments;
        }
    }
    const std::string& command = arguments.options.command;
    arguments.is_good =
        command == "check" || command == "limits" || command == "time" || command == "turns";
    return arguments;
}

void describe(Platform& platform, const Options& options) {
    const auto& p = platform.device().properties();
    Record("device")
        .add("platform", platform.name())
        .add("device", p.name)
        .add("capability", std::to_string(p.major) + "." + std::to_string(p.minor))
        .add("n_multiprocessor", p.n_multiprocessor)
        .add("shared_bytes", p.shared_bytes)
        .add("memory_bytes", p.memory_bytes)
        .add("runtime", p.runtime)
        .write(options.json);
}

int run(Platform& platform, const Options& options) {
    describe(platform, options);
    if (options.command == "limits") measure_limits(platform, options);
    if (options.command == "time") time_passes(platform, options);
    if (options.command == "turns") return take_turns(platform, options);
    if (options.command != "check") return 0;
    const int n_failed = check_passes(platform, options);
    if (n_failed > 0) std::cerr << n_failed << " checks failed\n";
    return n_failed > 0;
}

}  // namespace
}  // namespace surrogate::benchmarks

int main(int argc, char** argv) {
    using namespace surrogate;
    const benchmarks::Arguments arguments = benchmarks::parse(argc, argv);
    if (!arguments.is_good) {
        std::cerr << "device_passes check|limits|time|turns [--json FILE] [--device N] "
                     "[--tiny] [--only CASE] [--variant N]\n";
        return 2;
    }
    try {
        const auto platform = benchmarks::open_platform(arguments.device);
        return benchmarks::run(*platform, arguments.options);
    } catch (const kernels::Error& error) {
        const bool is_absent =
            error.status() == kernels::Status::not_supported && benchmarks::is_device_absent();
        std::cerr << (is_absent ? "no CUDA device here: " : "") << error.what() << '\n';
        return is_absent ? 77 : 1;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
