// SPDX-License-Identifier: Apache-2.0
// Fields in blocks with ghost points: results are bitwise identical to plain arrays, and nothing
// beside the points is read or written.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/small_darcy_model.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

/// Axes of an array: points, ghost points before and behind, and whether it is bound backwards.
struct Axis {
    int64_t n, before, behind;
    bool is_backwards = false;
};

/// One field in an array with ghost points. What lies there is NaN, which a run must not see.
template <class T>
struct GhostArray {
    GhostArray(const std::vector<Axis>& axes, const std::vector<double>& values) {
        int64_t step = 1, first = 0;
        for (const Axis& axis : axes) {
            first += step * (axis.is_backwards ? axis.before + axis.n - 1 : axis.before);
            shape.push_back(axis.n);
            stride.push_back(axis.is_backwards ? -step : step);
            step *= axis.before + axis.n + axis.behind;
        }
        memory.assign(static_cast<size_t>(step), T(NAN));
        origin = first;
        for (size_t i = 0; i < values.size(); ++i) memory[place(i)] = static_cast<T>(values[i]);
    }
    size_t place(size_t point) const {
        auto rest = static_cast<int64_t>(point), place = origin;
        for (size_t axis = 0; axis < shape.size(); ++axis) {
            place += rest % shape[axis] * stride[axis];
            rest /= shape[axis];
        }
        return static_cast<size_t>(place);
    }
    surrogate_block block() {
        surrogate_block block{};
        block.data = memory.data() + origin;
        std::ranges::copy(shape, block.shape);
        std::ranges::copy(stride, block.stride);
        block.n_dim = static_cast<int32_t>(shape.size());
        block.dtype = sizeof(T) == 8 ? SURROGATE_FLOAT64 : SURROGATE_FLOAT32;
        return block;
    }
    /// The values of n points, which are forgotten here; the ghost points must be NaN still.
    std::vector<double> take(size_t n) {
        std::vector<double> values;
        for (size_t i = 0; i < n; ++i) {
            values.push_back(static_cast<double>(memory[place(i)]));
            memory[place(i)] = T(NAN);
        }
        for (const T value : memory) EXPECT_TRUE(std::isnan(value));
        return values;
    }

    std::vector<int64_t> shape, stride;
    std::vector<T> memory;
    int64_t origin = 0;
};

const std::vector<std::vector<Axis>> arrays = {
    {{210, 3, 2}},                                             // a line
    {{210, 3, 2, true}},                                       // backwards
    {{30, 1, 1}, {7, 1, 1}},                                   // one layer of ghost points
    {{1, 1, 1}, {210, 0, 0}},                                  // a column: one stride says as much
    {{30, 0, 0}, {7, 2, 2}},                                   // whole rows: one stride
    {{2, 1, 0}, {3, 0, 1}, {35, 1, 1}},                        // short rows
    {{14, 2, 2}, {15, 0, 0}, {1, 2, 2}},                       //
    {{5, 1, 2}, {7, 0, 1, true}, {6, 2, 0}},                   // an axis turned
    {{3, 1, 1, true}, {2, 1, 1}, {5, 1, 1}, {7, 1, 1, true}},  // four axes
};

struct BlockRun {
    const char *backend, *reproducible, *threads;
};
class PlanBlock : public testing::TestWithParam<BlockRun> {
protected:
    Options options{{"backend", GetParam().backend},
                    {"reproducible", GetParam().reproducible},
                    {"threads", GetParam().threads}};
    Context context;
    Model model{context, small_darcy_model()};
    DarcyCase points{first_rows(210)};
    Domain domain = points.domain(context);
    Plan plan{model, domain, options};
    std::vector<double> expected = predict(model, context, points, options);
};

TEST_P(PlanBlock, GivesTheBitsOfAPlainArray) {
    for (const std::vector<Axis>& axes : arrays) {
        GhostArray<double> mobility(axes, points.mobility), pressure(axes, {});
        plan.bind_input("mobility", mobility.block(), "m^2/(Pa s)");
        plan.bind_output("pressure", pressure.block(), "Pa");
        plan.run();
        EXPECT_EQ(pressure.take(210), expected) << axes.size() << " axes";
        EXPECT_EQ(mobility.take(210), points.mobility);
    }
}

TEST_P(PlanBlock, OfFloatsMixesWithArrays) {
    GhostArray<float> mobility({{30, 1, 1}, {7, 1, 1}}, points.mobility);
    points.bind(plan);
    plan.bind_input("mobility", mobility.block());
    plan.run();
    EXPECT_EQ(points.pressure, expected);
    GhostArray<float> pressure({{5, 1, 1}, {42, 1, 1}}, {});
    plan.bind_input("mobility", column(points.mobility.data(), 210));
    plan.bind_output("pressure", pressure.block());
    plan.run();
    const std::vector<double> found = pressure.take(210);
    for (size_t i = 0; i < 210; ++i) EXPECT_EQ(found[i], static_cast<float>(expected[i]));
}

TEST_P(PlanBlock, BadValueIsNamedByItsPoint) {
    points.mobility[131] = NAN;
    points.mobility[170] = INFINITY;
    GhostArray<double> mobility({{30, 1, 1}, {7, 1, 1}}, points.mobility);
    GhostArray<double> pressure({{7, 1, 1}, {30, 1, 1}}, {});
    plan.bind_input("mobility", mobility.block());
    plan.bind_output("pressure", pressure.block());
    const Answer found = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("point with id 131 ")) << found;
    for (const double value : pressure.take(210)) EXPECT_TRUE(std::isnan(value));
}

TEST_P(PlanBlock, ValuesOutsideTheRangeAreCounted) {
    for (const size_t i : {4u, 64u, 65u, 209u}) points.mobility[i] = 20 + static_cast<double>(i);
    GhostArray<double> mobility({{30, 1, 1}, {7, 1, 1}}, points.mobility);
    points.bind(plan);
    plan.bind_input("mobility", mobility.block());
    plan.run();
    EXPECT_EQ(plan.range(1).n_outside, 4);
    EXPECT_EQ(plan.range(1).worst, 229);
}

INSTANTIATE_TEST_SUITE_P(Ways, PlanBlock,
                         testing::Values(BlockRun{"simd", "false", "1"},
                                         BlockRun{"simd", "false", "3"},
                                         BlockRun{"simd", "true", "2"},
                                         BlockRun{"ref", "false", "2"},
                                         BlockRun{"ref", "true", "1"}),
                         [](const auto& way) {
                             return std::string(way.param.backend) + way.param.threads +
                                    (way.param.reproducible[0] == 't' ? "Reproducible" : "Fast");
                         });

class PlanBlockRefusals : public testing::Test {
protected:
    Answer bind(const surrogate_block& block, const char* name = "mobility",
                const char* unit = nullptr) {
        return answer(surrogate_plan_bind_input_block(plan.get(), name, unit, &block));
    }
    static void expect(const Answer& found, surrogate_status status, const std::string& text) {
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(text)) << found;
    }

    Context context;
    Model model{context, small_darcy_model()};
    DarcyCase points{first_rows(12)};
    Domain domain = points.domain(context);
    Plan plan{model, domain};
    surrogate_block good = block(points.mobility.data(), {4, 3}, {1, 4});
};

TEST_F(PlanBlockRefusals, OfStridesThatLeaveTheAddressSpace) {
    for (const int64_t stride : {INT64_MIN, INT64_MAX, int64_t{1} << 60, -(int64_t{1} << 58)}) {
        for (size_t axis = 0; axis < 2; ++axis) {
            surrogate_block bad = good;
            bad.stride[axis] = stride;
            expect(bind(bad), SURROGATE_SHAPE, "leads out of the address space");
        }
    }
}

TEST_F(PlanBlockRefusals, OfOutputsWhosePointsShareMemory) {
    struct Strides {
        int64_t first, second;
    };
    const auto bind_output = [&](const Strides& strides) {
        const surrogate_block output =
            block(points.pressure.data(), {4, 3}, {strides.first, strides.second});
        return answer(surrogate_plan_bind_output_block(plan.get(), "pressure", nullptr, &output));
    };
    for (const Strides& bad : {Strides{0, 1}, {1, 0}, {1, 1}, {1, 3}, {-1, 3}, {2, 2}, {2, 1}})
        expect(bind_output(bad), SURROGATE_SHAPE, "output 'pressure': elements of an array of");
    for (const Strides& distinct : {Strides{1, 4}, {3, 1}, {-1, 4}, {1, -4}, {2, 9}})
        EXPECT_EQ(bind_output(distinct).status, SURROGATE_SUCCESS);
    surrogate_block same = good;
    same.stride[0] = same.stride[1] = 0;
    EXPECT_EQ(bind(same).status, SURROGATE_SUCCESS) << "an input may be one number for all points";
}

TEST_F(PlanBlockRefusals, OfBlocksThatCannotBeReadLeaveTheEarlierBinding) {
    points.bind(plan);
    surrogate_block bad = good;
    bad.shape[1] = 2;
    expect(bind(bad), SURROGATE_SHAPE, "4 x 2 = 8 points, the domain asks for 12");
    bad.shape[1] = -3;
    expect(bind(bad), SURROGATE_SHAPE, "(4, -3) is negative");
    bad.shape[0] = bad.shape[1] = INT64_MAX;
    expect(bind(bad), SURROGATE_LIMIT, "more points than int64 counts");
    for (const int32_t n_dim : {0, 5, -1}) {
        bad = good;
        bad.n_dim = n_dim;
        expect(bind(bad), SURROGATE_SHAPE,
               "n_dim is " + std::to_string(n_dim) + ", expected 1 to 4");
    }
    bad = good;
    bad.data = nullptr;
    expect(bind(bad), SURROGATE_INVALID_ARGUMENT, "data is NULL");
    bad = good;
    bad.dtype = SURROGATE_INT64;
    expect(bind(bad), SURROGATE_INVALID_ARGUMENT, "dtype");
    bad = good;
    bad.space = SURROGATE_CUDA;
    expect(bind(bad), SURROGATE_NOT_SUPPORTED, "device");
    bad = good;
    bad.reserved = 1;
    expect(bind(bad), SURROGATE_INVALID_ARGUMENT, "reserved is 1");
    expect(bind(good, "mobilty"), SURROGATE_UNKNOWN_NAME, "did you mean 'mobility'");
    expect(bind(good, "mobility", "Pa"), SURROGATE_INVALID_ARGUMENT, "'m^2/(Pa s)'");
    expect(bind(good, nullptr), SURROGATE_INVALID_ARGUMENT, "NULL");
    expect(answer(surrogate_plan_bind_output_block(plan.get(), "pressure", nullptr, nullptr)),
           SURROGATE_INVALID_ARGUMENT, "block for field 'pressure' is NULL");
    plan.run();
    EXPECT_EQ(points.pressure, predict(model, context, points));
}

TEST_F(PlanBlockRefusals, SkinWantsAsManyStridesAsExtents) {
    EXPECT_THROW(block(points.mobility.data(), {4, 3}, {1}), Error);
    EXPECT_THROW(block(points.mobility.data(), {1, 1, 1, 4, 3}, {1, 1, 1, 1, 4}), Error);
}

TEST_F(PlanBlockRefusals, EmptyBlocksServeDomainsWithoutPoints) {
    DarcyCase none(first_rows(0));
    const Domain empty = none.domain(context);
    Plan nowhere(model, empty);
    surrogate_block nothing = block(static_cast<double*>(nullptr), {4, 0, 5}, {1, 6, 0});
    nowhere.bind_input("mobility", nothing);
    nowhere.bind_output("pressure", nothing);
    nowhere.run();
}

TEST_F(PlanBlockRefusals, GridsOnTheSphereHaveStepsInstead) {
    const ModelOnDisk file(small_attention(), 4, 4);
    const Model on_sphere(context, file.path());
    const surrogate_domain_info grid = on_sphere.input_domain();
    surrogate_sphere sphere{};
    sphere.grid = grid.grid;
    sphere.n_lat = sphere.n_lat_local = grid.n_lat;
    sphere.n_lon = sphere.n_lon_local = grid.n_lon;
    Plan on_grid(on_sphere, Domain(context, sphere));
    expect(answer(surrogate_plan_bind_output_block(on_grid.get(), "v0", nullptr, &good)),
           SURROGATE_NOT_SUPPORTED, "lat_stride");
}

}  // namespace
}  // namespace surrogate::test
