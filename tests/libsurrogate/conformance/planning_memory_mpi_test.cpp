// SPDX-License-Identifier: Apache-2.0
// A law of every family: no rank allocates, while it plans, an array of the length of all points,
// or of all ranks for each of its points. A plan on all ranks is compared with one on a quarter of
// them that have as many points each: whatever grows with all points grows fourfold. The list
// states what families allocate by design.
#include <gtest/gtest.h>

#include <functional>
#include <numbers>
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

constexpr int64_t points_per_rank = 4096;

/// A network on any number of ranks.
struct Growing {
    std::string family, name;
    /// Bytes that a rank allocates, in all of a planning, for each point of all ranks.
    double by_design = 0;
    /// The file for so many ranks, if it is not that of the family's network `name`.
    std::function<std::shared_ptr<const std::string>(int size)> file = {};
};

/// The number of regions of a cloud follows the points, so that cells stay as large. With a fixed
/// number a rank receives whole cells, however many points they have.
std::shared_ptr<const std::string> hept_file(int size) {
    ModelWriter writer = hept_model({{"format", 1},
                                     {"family", "hept"},
                                     {"network", small_hept({{"block_size", 32}})},
                                     {"inputs", fields_on_square()},
                                     {"outputs", {field("u", 0.01, 0.004)}}});
    for (WriterTensor& tensor : writer.tensors) {
        if (tensor.name != "regions") continue;
        const std::vector<float> regions(12, std::sqrt(static_cast<float>(64 * size)));
        tensor = float_tensor("regions", {3, 2, 2}, regions);
    }
    const auto disk = std::make_shared<const ModelOnDisk>(writer.bytes());
    return {disk, &disk->path()};
}

/// Two rows of the grid on each rank.
std::shared_ptr<const std::string> sphere_file(bool is_global, int size) {
    const int64_t n_lon = points_per_rank / 64;
    const json shape = {2 * size, n_lon};
    json network = changed(small_attention(is_global), {{"in_shape", shape}, {"out_shape", shape}});
    if (!is_global) network["theta_cutoff"] = 4 * std::numbers::pi / (2 * size - 1);
    const auto disk = std::make_shared<const ModelOnDisk>(network, 0, 0);
    return {disk, &disk->path()};
}

std::vector<Growing> networks() {
    using namespace std::placeholders;
    return {{"Flare", "Fields"},
            {"Bsa", "FieldsOfBalls"},
            {"Bsa", "FieldsOfAllPoints"},
            {"Erwin", "Fields"},
            {"Sequoia", "Fields"},
            {"Hept", "Fields", 0, hept_file},
            {"Sphere", "Attention", 0, [](int size) { return sphere_file(false, size); }}};
}

class PlanningMemory : public testing::TestWithParam<Growing> {
protected:
    /// The most bytes that a rank of `comm` allocates for a domain and a plan. Collective.
    int64_t allocated(MPI_Comm comm, const OptionList& options,
                      const std::function<void()>& beside) {
        const Growing& growing = GetParam();
        const int size = size_of(comm);
        const FamilyCase& family = family_named(growing.family);
        NetworkCase network = network_named(family, growing.name);
        network.n_point = size * points_per_rank;
        const auto file = growing.file ? growing.file(size) : network.file();
        const Context context = mpi_context(comm, {{"threads", "1"}});
        const Model model(context, *file);
        int64_t n_byte = 0;
        for (int round = 0; round < 2; ++round) {  // the first one also fills caches
            const MemoryMeter meter;
            const FamilyDomains domains(context, model, {&family, &network}, "contiguous");
            const Plan plan = domains.plan(model, options_of(options));
            beside();
            n_byte = meter.allocated_bytes();
        }
        MPI_Allreduce(MPI_IN_PLACE, &n_byte, 1, MPI_INT64_T, MPI_MAX, comm);
        return n_byte;
    }

    /// Bytes that a rank allocates more for each point more on all ranks.
    double growth(const OptionList& options, const std::function<void(int64_t)>& beside = {}) {
        const int size = size_of(world);
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_split(world, rank_of(world) < size / 4 ? 0 : MPI_UNDEFINED, 0, &part);
        int64_t few = 0;
        const auto with = [&](MPI_Comm comm) {
            return [&, n = size_of(comm) * points_per_rank] {
                if (beside) beside(n);
            };
        };
        if (part != MPI_COMM_NULL) {
            few = allocated(part, options, with(part));
            MPI_Comm_free(&part);
        }
        MPI_Bcast(&few, 1, MPI_INT64_T, 0, world);
        const int64_t many = allocated(world, options, with(world));
        const auto n_more = static_cast<double>((size - size / 4) * points_per_rank);
        if (rank_of(world) == 0)
            std::printf("%s %s: %.1f bytes a point of the rank on %d ranks, %.1f on %d\n",
                        GetParam().family.c_str(), GetParam().name.c_str(),
                        static_cast<double>(few) / points_per_rank, size / 4,
                        static_cast<double>(many) / points_per_rank, size);
        return static_cast<double>(many - few) / n_more;
    }

private:
    static const FamilyCase& family_named(const std::string& name) {
        for (const FamilyCase* family : family_cases())
            if (family->name == name) return *family;
        throw std::invalid_argument(name);
    }
    static const NetworkCase& network_named(const FamilyCase& family, const std::string& name) {
        for (const NetworkCase& network : family.networks)
            if (network.name == name) return network;
        throw std::invalid_argument(name);
    }
};

/// Less than half a byte: an array of bytes is found, and arrays of the length of the ranks are
/// not.
constexpr double tolerance = 0.5;

TEST_P(PlanningMemory, DoesNotGrowWithAllPoints) {
    for (const OptionList& options :
         {OptionList{}, OptionList{{"reproducible", "true"}}, OptionList{{"gradients", "true"}}}) {
        const double found = growth(options);
        EXPECT_LE(found, GetParam().by_design + tolerance)
            << (options.empty() ? "fast" : options.front().first) << ": bytes a point of all ranks";
    }
}

TEST_P(PlanningMemory, WithAnArrayOfAllPointsIsFound) {
    std::vector<std::vector<char>> kept;
    const double found =
        growth({}, [&](int64_t n) { kept.emplace_back(static_cast<size_t>(n)); });
    EXPECT_GT(found, GetParam().by_design + tolerance);
}

INSTANTIATE_TEST_SUITE_P(Families, PlanningMemory, testing::ValuesIn(networks()),
                         [](const auto& tested) {
                             return tested.param.family + tested.param.name;
                         });

}  // namespace
}  // namespace surrogate::test
