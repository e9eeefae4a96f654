// SPDX-License-Identifier: Apache-2.0
// The work that plans of all families give to a device, as recorded logs: a change of the code that
// should not change it leaves them equal. SURROGATE_WRITE_DEVICE_LOGS=1 in the environment writes
// tests/data/device_logs.txt again, on as many ranks as the program has;
// SURROGATE_SHOW_DEVICE_LOG=<name> prints the lines of a network on rank 0.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/libsurrogate/conformance/family_run.hpp"
#include "tests/support/device_case.hpp"
#include "tests/support/device_log.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const std::string path = SURROGATE_TEST_DATA "/device_logs.txt";

Context logging_context() {
    auto handle = std::make_unique<surrogate_context>();
    handle->context = std::make_shared<impl::Context>(
        impl::mpi_communicator(world), impl::Options{}, impl::Placement{}, impl::posix_files(),
        impl::DeviceSources{logging_plugin, [](impl::Communicator&, kernels::Device&, double) {
                                return std::make_unique<LoggingCollectives>();
                            }});
    handle->context->open();
    return Context(handle.release());
}

/// Returns the numbers of a text, one after the other: its words may change.
std::string numbers_in(const std::string& text) {
    std::string numbers;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool is_part = std::isdigit(static_cast<unsigned char>(text[i])) || text[i] == '.';
        if (is_part)
            numbers += text[i];
        else if (!numbers.empty() && numbers.back() != ' ')
            numbers += ' ';
    }
    return numbers;
}

/// Entries of the file: "<network> <options> <ranks> <rank>" and a hash.
std::map<std::string, std::string> read_entries() {
    std::map<std::string, std::string> entries;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        const size_t last = line.rfind(' ');
        entries[line.substr(0, last)] = line.substr(last + 1);
    }
    return entries;
}

void write_entries(const std::map<std::string, std::string>& entries) {
    std::ofstream file(path);
    file << "# Hashes of the work given to a device, by network, mode, ranks and rank. Written by\n"
            "# conformance_device_log_tests with SURROGATE_WRITE_DEVICE_LOGS=1.\n";
    for (const auto& [name, hash] : entries) file << name << " " << hash << "\n";
}

class DeviceLogs : public testing::TestWithParam<Tested> {};

TEST_P(DeviceLogs, AreTheStoredOnes) {
    const auto file = GetParam().network->file();
    const bool writes = std::getenv("SURROGATE_WRITE_DEVICE_LOGS") != nullptr;
    const char* const shown = std::getenv("SURROGATE_SHOW_DEVICE_LOG");
    std::map<std::string, std::string> found;
    for (const Mode& mode : GetParam().family->modes) {
        DeviceLog& log = DeviceLog::current();
        log.restart();
        const Context context = logging_context();
        const Model model(context, *file);
        // The text of a plan names its vector level: one that every machine has.
        const Options options =
            options_of(mode.options, {{"backend", "cuda"}, {"threads", "1"}, {"vector", "scalar"}});
        const FamilyDomains domains(context, model, GetParam(), "contiguous");
        surrogate_plan* made = nullptr;
        const surrogate_status status = surrogate_plan_create(
            model.get(), domains.input.get(), domains.output(), options.get(), &made);
        surrogate_plan_destroy(&made);
        if (status != SURROGATE_SUCCESS) {
            EXPECT_EQ(status, SURROGATE_NOT_SUPPORTED) << surrogate_error(context.get());
            continue;
        }
        log.restart();
        FamilyRun run(context, model, GetParam(), "contiguous", options);
        for (int i = 0; i < 2; ++i) run.run_network();
        if (shown && GetParam().name() == shown && rank_of(world) == 0)
            for (const std::string& line : log.lines()) std::printf("%s\n", line.c_str());
        log.add(numbers_in(run.plan.describe()));
        char hash[20];
        std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(log.hash()));
        found[GetParam().name() + " " + (mode.name.empty() ? "default" : mode.name) + " " +
              std::to_string(size_of(world)) + " " + std::to_string(rank_of(world))] = hash;
    }
    if (writes) {
        for (int rank = 0; rank < size_of(world); ++rank) {
            if (rank == rank_of(world)) {
                std::map<std::string, std::string> entries = read_entries();
                for (const auto& [name, hash] : found) entries[name] = hash;
                write_entries(entries);
            }
            MPI_Barrier(world);
        }
    }
    const std::map<std::string, std::string> stored = read_entries();
    for (const auto& [name, hash] : found) {
        ASSERT_TRUE(stored.contains(name)) << name;
        EXPECT_EQ(hash, stored.at(name)) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Families, DeviceLogs, testing::ValuesIn(tested_networks(is_any)),
                         name_of_tested);

}  // namespace
}  // namespace surrogate::test
