// SPDX-License-Identifier: Apache-2.0
// threads=auto asks OpenMP, and says whom it followed. Run once for each OMP_NUM_THREADS that
// CMakeLists.txt lists: the runtime reads it when the program starts.
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/support/darcy_case.hpp"

namespace surrogate::test {
namespace {

int n_core() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
    return CPU_COUNT(&cores);
}

std::string asked() {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    return text ? text : "";
}

/// The line of the threads in a context's description, and the number that its plans use.
std::string line_of(const Context& context) {
    const std::string text = context.describe();
    const size_t begin = text.find("threads ");
    return text.substr(begin, text.find('\n', begin) - begin);
}
std::string threads_of(const Context& context) {
    const Model model(context, darcy_model);
    const Domain domain = DarcyCase(first_rows(3)).domain(context);
    return Plan(model, domain).option("threads");
}

TEST(Threads, FollowOmpNumThreadsBelowTheShareOfCores) {
    // The first value of a list counts; words that are no number are none to OpenMP either.
    const int first = std::atoi(asked().c_str());
    const bool is_smaller = first > 0 && first < n_core();
    const std::string expected = std::to_string(is_smaller ? first : n_core());
    const Context context;
    EXPECT_EQ(threads_of(context), expected);
    const std::string reason = is_smaller ? "OMP_NUM_THREADS=" + asked() +
                                                "; cores / ranks on the node would be " +
                                                std::to_string(n_core())
                                          : "cores / ranks on the node";
    EXPECT_EQ(line_of(context), "threads    " + expected + " (" + reason + ")");
}

TEST(Threads, FollowAHostThatLimitsItsOpenMp) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const Context context;
    EXPECT_EQ(threads_of(context), "1");
    if (n_core() > 1 && asked().empty()) {
        EXPECT_EQ(line_of(context),
                  "threads    1 (the host's OpenMP; cores / ranks on the node would be " +
                      std::to_string(n_core()) + ")");
    }
    omp_set_num_threads(before);
}

TEST(Threads, OptionOverridesOpenMp) {
    const Context context({{"threads", "3"}});
    EXPECT_EQ(threads_of(context), "3");
    EXPECT_EQ(line_of(context), "threads    3 (option threads)");
}

}  // namespace
}  // namespace surrogate::test
