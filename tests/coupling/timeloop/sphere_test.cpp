// SPDX-License-Identifier: Apache-2.0
// Grids on the sphere: points count by their share of the area, however the solver keeps them, and
// arrays with ghosts are stepped in place.
#include "coupling/timeloop/exact_sum.hpp"
#include "tests/coupling/timeloop/loop_case.hpp"
#include "tests/support/sphere_case.hpp"

namespace surrogate::test {
namespace {

const SphereLayout layouts[] = {
    {"as the model has it"},
    {"southern rows first, columns from elsewhere", "contiguous", true, 5},
    {"blocks with ghosts", "scattered", false, 0, false, 2},
    {"latitude fastest, with ghosts", "contiguous", true, 3, false, 1, true},
    {"an empty rank", "uneven"},
};

/// Fields u0, u1, .. stepped into v0, v1, .. Collective.
Model sphere_model(const Context& context) {
    ModelParts<float> parts(SURROGATE_TEST_DATA
                            "/sphere/transformer_neighborhood_24x48.safetensors");
    for (const auto& [side, count, letter] :
         {std::tuple("inputs", "in_chans", "u"), std::tuple("outputs", "out_chans", "v")}) {
        Entries entries;
        for (int f = 0; f < parts.card["network"][count].get<int>(); ++f) {
            const std::string name = letter + std::to_string(f);
            entries.push_back(*letter == 'u' ? input_entry(name.c_str(), 0, 1, -9, 9)
                                             : field_entry(name.c_str(), 0, 1));
        }
        parts.card[side] = entries;
    }
    return Model(context, parts.card.dump(), parts.tensors());
}

/// v0 after a step that keeps its integral, as the model orders points, (n_lat, n_lon); NaN between
/// the points stays.
std::vector<double> corrected(const SphereLayout& layout, bool corrects) {
    const Context context = mpi_context(MPI_COMM_WORLD, {{"threads", "1"}});
    const Model model = sphere_model(context);
    const surrogate_domain_info grid = model.input_domain();
    const SphereBlock block(grid, layout, context.rank(), context.size());
    const Domain domain(context, block.sphere());
    Plan plan(model, domain, {{"reproducible", "true"}});
    TimeLoop loop(plan);
    std::vector<double> in(static_cast<size_t>(block.memory_size()), NAN), out = in;
    const auto for_points = [&](const auto& visit) {
        for (int64_t i = 0; i < block.n_lat(); ++i)
            for (int64_t j = 0; j < block.n_lon(); ++j)
                visit(static_cast<size_t>(block.place(i, j)),
                      static_cast<size_t>(block.model_index(i, j)));
    };
    for_points([&](size_t place, size_t index) {
        in[place] = std::sin(0.1 * static_cast<double>(index));
        out[place] = 1 + std::cos(0.01 * static_cast<double>(index));
    });
    const auto array_of = [&](std::vector<double>& memory) {
        return column(block.n_point() > 0 ? memory.data() + block.first_point() : nullptr,
                      block.n_point());
    };
    std::vector<double> others = out;
    for (const char* name : {"u0", "u1", "u2"}) loop.bind(name, array_of(in));
    for (const char* name : {"v1", "v2"}) loop.bind(name, array_of(others));
    loop.bind("v0", array_of(out));
    loop.set("drift", corrects ? "correct" : "off");
    loop.conserve("mass", "v0", 0);
    loop.snapshot();
    loop.step(1);
    loop.rollback();
    loop.step(1);
    EXPECT_EQ(std::ranges::count_if(out, [](double value) { return std::isnan(value); }),
              block.memory_size() - block.n_point());
    std::vector<double> whole(static_cast<size_t>(block.n_model_point()));
    for_points([&](size_t place, size_t index) { whole[index] = out[place]; });
    context.reduce(SURROGATE_SUM, std::ssize(whole), whole.data());
    return whole;
}

double mean_over_area(const surrogate_domain_info& grid, const std::vector<double>& whole) {
    std::vector<double> weights(static_cast<size_t>(grid.n_lat));
    check(surrogate_sphere_nodes(grid.grid, grid.n_lat, grid.n_lon, nullptr, nullptr,
                                 weights.data()));
    timeloop::ExactSum sum;
    for (size_t i = 0; i < whole.size(); ++i)
        sum.add(weights[i / static_cast<size_t>(grid.n_lon)] * whole[i]);
    double limbs[timeloop::ExactSum::n_limb];
    sum.write(limbs);
    return timeloop::ExactSum::value(limbs);
}

TEST(TimeLoopOnTheSphere, KeepsIntegralsOverTheAreaInAnyLayout) {
    const surrogate_domain_info grid = {SURROGATE_SPHERE, 1, "legendre-gauss", 24, 48};
    const std::vector<double> free = corrected(layouts[0], false);
    std::vector<double> start(free.size());
    for (size_t i = 0; i < start.size(); ++i)
        start[i] = 1 + std::cos(0.01 * static_cast<double>(i));
    const double shift = mean_over_area(grid, start) - mean_over_area(grid, free);
    ASSERT_GT(std::abs(shift), 1e-3);
    std::vector<double> first;
    for (const SphereLayout& layout : layouts) {
        SCOPED_TRACE(layout.name);
        const std::vector<double> found = corrected(layout, true);
        for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], free[i] + shift, 1e-12);
        if (first.empty()) first = found;
        EXPECT_TRUE(same_bits(found, first));
    }
}

}  // namespace
}  // namespace surrogate::test
