// SPDX-License-Identifier: Apache-2.0
// fuzz_model_file <count> <seed>: damages a small model file with checksums in `count` variants and
// loads each through the whole path that models take. Every input must be
//   rejected with Error(bad_file), or
//   accepted with the card and the name, type, shape and bytes of every tensor exactly as in the
//   original,
// within one second. accept() plays the architecture's part of the check (names, types and shapes),
// as a family does it. The sanitizers detect crashes, leaks and undefined behavior.
//
// A reader cannot detect one loss: a file without its key surrogate.card_checksum is equal to a
// file that never had it. Such an input is judged by its tensors alone; such inputs are counted and
// printed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "libsurrogate/src/file/model_file.hpp"
#include "tests/libsurrogate/file/model_file_mutator.hpp"
#include "tests/support/memory_files.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::test {
namespace {

using namespace surrogate::impl;

constexpr double most_seconds = 1;

struct Tally {
    int64_t n_refused = 0, n_accepted = 0, n_without_card_checksum = 0;
    double slowest_s = 0;
};

class Fuzzer {
public:
    explicit Fuzzer(const ModelWriter& model) : original_(load(model.bytes(), false)) {}

    /// "" or what must not happen.
    std::string check(const std::string& input, Tally& tally) const {
        const auto begin = std::chrono::steady_clock::now();
        const std::string problem = outcome(input, tally);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        tally.slowest_s = std::max(tally.slowest_s, seconds.count());
        if (problem.empty() && seconds.count() > most_seconds) return "took longer than one second";
        return problem;
    }

private:
    std::string outcome(const std::string& input, Tally& tally) const {
        try {
            const ModelFile found = load(input, true);
            ++tally.n_accepted;
            return difference(found, input, tally);
        } catch (const Error& error) {
            ++tally.n_refused;
            if (error.status() != Status::bad_file)
                return std::string("wrong status: ") + error.what();
            if (!std::strstr(error.what(), "model file 'fuzz': "))
                return std::string("no path: ") + error.what();
        } catch (const std::exception& error) {
            return std::string("not an Error: ") + error.what();
        }
        return "";
    }

    std::string difference(const ModelFile& found, const std::string& input, Tally& tally) const {
        for (size_t i = 0; i < found.tensors.size(); ++i) {
            const Tensor &a = original_.tensors[i], &b = found.tensors[i];
            if (a.data.size() != b.data.size() ||
                !std::equal(a.data.begin(), a.data.end(), b.data.begin()))
                return "tensor " + a.entry.name + " accepted with other bytes";
        }
        if (found.card_text == original_.card_text) return "";
        const auto header = read_safetensors_header(*MemoryFiles(input).open(""));
        if (header.metadata.contains("surrogate.card_checksum")) return "another card accepted";
        ++tally.n_without_card_checksum;
        return "";
    }

    ModelFile load(const std::string& bytes, bool compare) const {
        return load_model_file(
            *comm_, MemoryFiles(bytes), "fuzz", [](auto) { return true; },
            [&](const Card&, std::span<const TensorEntry> entries) {
                if (compare) require_architecture(entries);
            });
    }

    void require_architecture(std::span<const TensorEntry> entries) const {
        if (entries.size() != original_.entries.size())
            throw Error(Status::bad_file, "number of tensors");
        for (size_t i = 0; i < entries.size(); ++i) {
            const TensorEntry &a = original_.entries[i], &b = entries[i];
            if (a.name != b.name || a.dtype != b.dtype || a.shape != b.shape)
                throw Error(Status::bad_file, "tensor " + a.name);
        }
    }

    std::unique_ptr<Communicator> comm_ = self_communicator();
    ModelFile original_;
};

int run(int64_t count, uint64_t seed) {
    const ModelWriter model = small_model();
    const Fuzzer fuzzer(model);
    Mutator mutator(model, seed);
    Tally tally;
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < count; ++i) {
        const std::string input = mutator.next();
        const std::string problem = fuzzer.check(input, tally);
        if (problem.empty()) continue;
        std::printf("input %lld of seed %llu: %s\n", static_cast<long long>(i),
                    static_cast<unsigned long long>(seed), problem.c_str());
        std::FILE* file = std::fopen("fuzz_model_file.failed", "wb");
        std::fwrite(input.data(), 1, input.size(), file);
        std::fclose(file);
        return 1;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf(
        "%lld inputs of seed %llu in %.1f s: %lld rejected, %lld accepted unchanged, %lld without "
        "card checksum; slowest %.4f s\n",
        static_cast<long long>(count), static_cast<unsigned long long>(seed), seconds.count(),
        static_cast<long long>(tally.n_refused),
        static_cast<long long>(tally.n_accepted - tally.n_without_card_checksum),
        static_cast<long long>(tally.n_without_card_checksum), tally.slowest_s);
    // A mutator that never leaves a file loadable, or always, would test nothing.
    const bool is_mixed = tally.n_accepted > 0 && tally.n_refused > tally.n_accepted;
    if (count >= 1000 && !is_mixed)
        std::printf("the mutator does not mix damaged and harmless files\n");
    return count >= 1000 && !is_mixed ? 1 : 0;
}

}  // namespace
}  // namespace surrogate::test

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: fuzz_model_file <count> <seed>\n");
        return 2;
    }
    return surrogate::test::run(std::atoll(argv[1]), std::strtoull(argv[2], nullptr, 10));
}
