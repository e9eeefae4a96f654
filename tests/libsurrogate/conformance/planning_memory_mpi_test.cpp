// SPDX-License-Identifier: Apache-2.0
// A law of every family: no rank allocates, while it plans, an array of the length of all points,
// or of all ranks for each of its points. The number of points is a prime: such an array does not
// have the size of an array of a rank's own points, nor that to which a vector grows. Arrays of all
// ranks for each point are looked for on odd numbers of ranks: on 64 they have the size of 64
// channels of each point.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/libsurrogate/conformance/family_run.hpp"
#include "tests/libsurrogate/conformance/point_family.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

constexpr int64_t n_point = 20011;

/// Returns whether an array of this size has an element of 1 to 24 bytes for each point of all
/// ranks, perhaps one more, or, on an odd number of ranks, for each of the ranks at each own point.
bool is_of_all_points(int64_t size) {
    const int64_t n_rank = size_of(world), n_own = n_point / n_rank;
    std::vector<int64_t> lengths = {n_point, n_point + 1};
    if (n_rank % 2 == 1) lengths.insert(lengths.end(), {n_own * n_rank, (n_own + 1) * n_rank});
    for (const int64_t width : {1, 2, 4, 8, 12, 16, 24}) {
        for (const int64_t n : lengths)
            if (size == n * width) return true;
    }
    return false;
}

struct Planned {
    std::string family, network;
    /// The model file, if the family's network has another one.
    std::function<std::shared_ptr<const std::string>()> file = {};
};

/// Cells of 64 points. With few regions a rank receives whole cells, however many points they have.
std::shared_ptr<const std::string> hept_file() {
    ModelWriter writer = hept_model({{"format", 1},
                                     {"family", "hept"},
                                     {"network", small_hept({{"block_size", 32}})},
                                     {"inputs", fields_on_square()},
                                     {"outputs", {field("u", 0.01, 0.004)}}});
    for (WriterTensor& tensor : writer.tensors) {
        if (tensor.name != "regions") continue;
        const float along = std::sqrt(static_cast<float>(n_point) / 64);
        tensor = float_tensor("regions", {3, 2, 2}, std::vector<float>(12, along));
    }
    const auto disk = std::make_shared<const ModelOnDisk>(writer.bytes());
    return {disk, &disk->path()};
}

/// A grid of one point less, 138 x 145.
std::shared_ptr<const std::string> sphere_file() {
    const json shape = {138, 145};
    const json network = changed(
        small_attention(), {{"in_shape", shape}, {"out_shape", shape}, {"theta_cutoff", 0.06}});
    const auto disk = std::make_shared<const ModelOnDisk>(network, 0, 0);
    return {disk, &disk->path()};
}

std::ostream& operator<<(std::ostream& stream, const Planned& planned) {
    return stream << planned.family << planned.network;
}

class PlanningMemory : public testing::TestWithParam<Planned> {
protected:
    /// Returns the sizes of arrays of all points that this rank allocates for a domain and a plan.
    /// `beside` is part of that. Collective.
    std::vector<int64_t> found(const OptionList& options, const std::function<void()>& beside) {
        const FamilyCase& family = named(family_cases(), GetParam().family);
        NetworkCase network = named(family.networks, GetParam().network);
        network.n_point = n_point;
        const auto file = GetParam().file ? GetParam().file() : network.file();
        const Context context = mpi_context(world, {{"threads", "1"}});
        const Model model(context, *file);
        const MemoryMeter meter;
        const FamilyDomains domains(context, model, {&family, &network}, "contiguous");
        const Plan plan = domains.plan(model, options_of(options));
        beside();
        std::vector<int64_t> sizes = meter.large_sizes(n_point / 2);
        std::erase_if(sizes, [](int64_t size) { return !is_of_all_points(size); });
        return sizes;
    }

private:
    static const FamilyCase& named(const std::vector<const FamilyCase*>& list,
                                   const std::string& name) {
        for (const FamilyCase* one : list)
            if (one->name == name) return *one;
        throw std::invalid_argument(name);
    }
    static const NetworkCase& named(const std::vector<NetworkCase>& list, const std::string& name) {
        for (const NetworkCase& one : list)
            if (one.name == name) return one;
        throw std::invalid_argument(name);
    }
};

TEST_P(PlanningMemory, HasNoArrayOfAllPoints) {
    for (const OptionList& options :
         {OptionList{}, OptionList{{"reproducible", "true"}}, OptionList{{"gradients", "true"}}}) {
        EXPECT_EQ(found(options, [] {}), std::vector<int64_t>{})
            << (options.empty() ? "fast" : options.front().first);
    }
}

TEST_P(PlanningMemory, WithAnArrayOfAllPointsIsFound) {
    std::vector<std::vector<char>> bytes;
    std::vector<std::vector<double>> numbers;
    const std::vector<int64_t> sizes = found({}, [&] {
        bytes.emplace_back(n_point);
        numbers.emplace_back(n_point + 1);
    });
    EXPECT_EQ(sizes, (std::vector<int64_t>{n_point, 8 * n_point + 8}));
}

INSTANTIATE_TEST_SUITE_P(
    Families, PlanningMemory,
    testing::Values(Planned{"Flare", "Fields"}, Planned{"Bsa", "FieldsOfBalls"},
                    Planned{"Bsa", "FieldsOfAllPoints"}, Planned{"Erwin", "Fields"},
                    Planned{"Sequoia", "Fields"}, Planned{"Hept", "Fields", hept_file},
                    Planned{"Sphere", "Attention", sphere_file}),
    [](const auto& tested) { return tested.param.family + tested.param.network; });

}  // namespace
}  // namespace surrogate::test
