// SPDX-License-Identifier: Apache-2.0
// Malformed model files made to harm: each is rejected with the right status and a text that names
// key or offset, in little time and memory. Cases of the header are in hostile_header_cases.cpp,
// cases of metadata, card and values in hostile_content_cases.cpp.
#include "tests/libsurrogate/file/hostile_files.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <set>

#include "libsurrogate/src/file/model_file.hpp"
#include "tests/support/memory_files.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::test {
namespace {

using impl::load_model_file;

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
constexpr double slowdown = 30;  // of checked or unoptimized code
#else
constexpr double slowdown = 1;
#endif
constexpr double most_seconds = 0.1 * slowdown;
constexpr int64_t most_bytes = int64_t{32} << 20;

double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);  // other programs on the machine do not count
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class HostileFile : public ::testing::TestWithParam<HostileCase> {};

struct Attempt {
    Refusal found;
    double seconds = 0;
    int64_t peak_bytes = 0;
};

Attempt attempt(const std::string& bytes) {
    const MemoryFiles files(bytes);
    const auto comm = impl::self_communicator();
    const MemoryMeter meter;
    const double begin = cpu_seconds();
    Attempt result;
    result.found = refusal([&] {
        load_model_file(
            *comm, files, "malformed", [](auto) { return true; }, [](auto&, auto) {});
    });
    result.seconds = cpu_seconds() - begin;
    result.peak_bytes = meter.peak_bytes();
    return result;
}

TEST_P(HostileFile, IsRefusedByNameInLittleTimeAndMemory) {
    const HostileCase& hostile = GetParam();
    const std::string bytes = hostile.bytes();
    Attempt result = attempt(bytes);
    // A busy machine makes even processor time longer: the best of three counts.
    for (int again = 0; again < 2 && result.seconds > most_seconds; ++again)
        result = attempt(bytes);
    EXPECT_LE(result.seconds, most_seconds);
    EXPECT_LE(result.peak_bytes, most_bytes);
    RecordProperty("microseconds", static_cast<int>(1e6 * result.seconds));
    RecordProperty("peak_bytes", static_cast<int>(result.peak_bytes));
    const Refusal& found = result.found;
    EXPECT_EQ(found.status, kernels::Status::bad_file) << found.text;
    EXPECT_LE(found.text.size(), 1500u);
    EXPECT_TRUE(found.says("model file 'malformed': ")) << found.text;
    for (const std::string& part : hostile.says)
        EXPECT_TRUE(found.says(part)) << "expected '" << part << "' in: " << found.text;
}

std::string case_name(const ::testing::TestParamInfo<HostileCase>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Length, HostileFile, ::testing::ValuesIn(length_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Json, HostileFile, ::testing::ValuesIn(json_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Tensor, HostileFile, ::testing::ValuesIn(tensor_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Offsets, HostileFile, ::testing::ValuesIn(offset_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Metadata, HostileFile, ::testing::ValuesIn(metadata_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Content, HostileFile, ::testing::ValuesIn(content_cases()), case_name);

TEST(HostileFiles, ThereAreAtLeastSixtyAndTheyDiffer) {
    std::set<std::string> files;
    for (const auto& list : {length_cases(), json_cases(), tensor_cases(), offset_cases(),
                             metadata_cases(), content_cases()})
        for (const HostileCase& hostile : list)
            EXPECT_TRUE(files.insert(hostile.bytes()).second) << hostile.name;
    EXPECT_GE(files.size(), 60u);
}

TEST(HostileFiles, TheirUnspoiledTemplateIsAccepted) {
    const std::string bytes = model_bytes(R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})",
                                          std::string(8, '\0'));
    EXPECT_NO_THROW(load_model_file(
        *impl::self_communicator(), MemoryFiles(bytes), "good", [](auto) { return true; },
        [](auto&, auto) {}));
}

}  // namespace
}  // namespace surrogate::test
