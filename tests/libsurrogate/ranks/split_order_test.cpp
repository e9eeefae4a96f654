// SPDX-License-Identifier: Apache-2.0
// Trees of one rank against their definition, on one thread and on several.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libsurrogate/src/ranks/split_rules.hpp"
#include "tests/support/split_reference.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

kernels::Queue threads(int n_thread) {
    return {kernels::Backend::ref, kernels::VectorLevel::scalar, n_thread};
}

std::vector<int64_t> positions_of(const Cloud& cloud, const impl::SplitRule& rule,
                                  int n_thread = 1) {
    const auto alone = impl::self_communicator();
    const int64_t begins[] = {0, cloud.n()};
    return impl::split_positions(*alone, threads(n_thread), {cloud.n_axis, cloud.x, cloud.ids},
                                 rule, begins);
}

/// All rules that families use, for n points.
std::vector<std::unique_ptr<impl::SplitRule>> rules_of(int64_t n) {
    std::vector<std::unique_ptr<impl::SplitRule>> rules;
    rules.push_back(std::make_unique<impl::BallRule>(n));
    rules.push_back(std::make_unique<impl::HalvesRule>());
    rules.push_back(std::make_unique<impl::HalvesRule>(16, true));
    for (const int64_t k : {2, 3, 4, 16}) rules.push_back(std::make_unique<impl::BranchRule>(k));
    return rules;
}

class SplitOrder : public testing::TestWithParam<std::string> {};

TEST_P(SplitOrder, OfFewPointsIsThatOfTheDefinition) {
    const TrapGuard traps;
    for (int64_t n = 1; n <= 130; ++n) {
        const Cloud cloud = cloud_of(GetParam(), n, 1 + static_cast<int>(n % 3));
        for (const auto& rule : rules_of(n))
            ASSERT_EQ(positions_of(cloud, *rule), SplitReference(cloud, *rule).positions()) << n;
    }
}

TEST_P(SplitOrder, OfManyPointsIsThatOfTheDefinition) {
    const TrapGuard traps;
    for (const int64_t n : {255, 257, 500, 972, 1024, 2049, 3586}) {
        const Cloud cloud = cloud_of(GetParam(), n, 1 + static_cast<int>(n % 3), 2);
        for (const auto& rule : rules_of(n))
            ASSERT_EQ(positions_of(cloud, *rule), SplitReference(cloud, *rule).positions()) << n;
    }
}

TEST_P(SplitOrder, DoesNotDependOnThreads) {
    const TrapGuard traps;
    for (const int64_t n : {1, 5, 9973, 30000}) {
        const Cloud cloud = cloud_of(GetParam(), n, 3);
        const impl::BranchRule rule(3);
        const std::vector<int64_t> expected = SplitReference(cloud, rule).positions();
        for (const int n_thread : {1, 2, 3})
            ASSERT_EQ(positions_of(cloud, rule, n_thread), expected) << n << ", " << n_thread;
    }
}

INSTANTIATE_TEST_SUITE_P(Clouds, SplitOrder, testing::ValuesIn(cloud_kinds()),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace surrogate::test
