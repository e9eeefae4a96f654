// SPDX-License-Identifier: Apache-2.0
// A law of every family: in double precision, on any number of ranks, networks give what the
// published implementation gives in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/conformance/family_run.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {
namespace {

struct GoldenOfFamily {
    const FamilyCase* family;
    const Golden* golden;
};

std::ostream& operator<<(std::ostream& stream, const GoldenOfFamily& golden) {
    return stream << golden.family->name << " " << golden.golden->name;
}

std::vector<GoldenOfFamily> all_goldens() {
    std::vector<GoldenOfFamily> list;
    for (const FamilyCase* family : family_cases())
        for (const Golden& golden : family->goldens) list.push_back({family, &golden});
    return list;
}

/// The first sample of a tensor of a check case.
class Sample {
public:
    Sample(const GoldenFile& file, const std::string& name, bool is_channels_first)
        : values_(file.tensor(name).part(0)), is_channels_first_(is_channels_first) {
        const std::vector<int64_t> shape = file.tensor(name).shape;
        n_channel_ = is_channels_first ? shape.at(1) : shape.back();
        n_point_ = std::ssize(values_) / n_channel_;
    }
    int64_t n_point() const { return n_point_; }
    double at(int64_t point, int64_t channel) const {
        return values_.at(static_cast<size_t>(is_channels_first_ ? channel * n_point_ + point
                                                                 : point * n_channel_ + channel));
    }

private:
    std::vector<double> values_;
    bool is_channels_first_;
    int64_t n_channel_ = 0, n_point_ = 0;
};

class GoldenNetwork : public testing::TestWithParam<GoldenOfFamily> {};

TEST_P(GoldenNetwork, InDoublePrecisionIsThePublishedOne) {
    const auto& [family, golden] = GetParam();
    const GoldenFile file(golden->path);
    const Context context = mpi_context(MPI_COMM_WORLD);
    const Model model(context, golden->path);
    const auto sample = [&](const surrogate_port_info& port) {
        const std::string kind = port.is_output ? "check/output64/" : "check/input/";
        return Sample(file, kind + port.name, family->is_channels_first);
    };
    const NetworkCase network{.name = golden->name,
                              .n_point = sample(model.ports().front()).n_point()};
    FamilyRun run(context, model, {family, &network}, "uneven", {{"precision", "fp64"}},
                  {.is_double = true});
    for (size_t p = 0; p < run.ports.size(); ++p) {
        if (run.ports[p].is_output) continue;
        const Share& share =
            run.ports[p].location == SURROGATE_ON_OUTPUT ? run.domains.out : run.domains.in;
        const Sample x = sample(run.ports[p]);
        for (size_t i = 0; i < share.points.size(); ++i)
            for (int64_t c = 0; c < run.ports[p].n_channel; ++c)
                run.port_arrays[p].set(i, c, x.at(share.points[i], c));
    }
    EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
    double sums[2] = {0, 0};  // of squared differences and values
    for (size_t p = 0; p < run.ports.size(); ++p) {
        if (!run.ports[p].is_output) continue;
        const Sample y = sample(run.ports[p]);
        for (size_t i = 0; i < run.domains.out.points.size(); ++i) {
            for (int64_t c = 0; c < run.ports[p].n_channel; ++c) {
                const double expected = y.at(run.domains.out.points[i], c);
                sums[0] += std::pow(run.port_arrays[p].get(i, c) - expected, 2);
                sums[1] += expected * expected;
            }
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_GT(sums[1], 0);
    EXPECT_LE(std::sqrt(sums[0] / sums[1]), golden->tolerance);
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenNetwork, testing::ValuesIn(all_goldens()),
                         [](const auto& golden) {
                             return golden.param.family->name + "_" + golden.param.golden->name;
                         });

}  // namespace
}  // namespace surrogate::test
