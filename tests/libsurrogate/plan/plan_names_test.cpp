// SPDX-License-Identifier: Apache-2.0
// Names of vectors: all components are bound at once.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/model_parts.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

json field(const std::string& name, const std::string& unit = "m/s") {
    return {{"name", name}, {"role", "field"}, {"unit", unit}, {"mean", 0}, {"std", 1}};
}

/// The network of flare/odd, 3 inputs and 2 outputs, under names of its own.
class PlanNames : public testing::Test {
protected:
    PlanNames() {
        for (size_t i = 0; i < 3 * n; ++i) in.push_back(std::sin(0.3 * static_cast<double>(i)));
    }
    Model model(const std::vector<json>& inputs, const Names& outputs) {
        json card = parts.card;
        card["inputs"] = inputs;
        card["outputs"] = json::array();
        for (const std::string& name : outputs)
            card["outputs"].push_back({{"name", name}, {"unit", "m/s"}, {"mean", 0}, {"std", 1}});
        return Model(context, card.dump(), parts.tensors());
    }
    Plan plan(const std::vector<json>& inputs, const Names& outputs) {
        return Plan(model(inputs, outputs), domain);
    }
    /// [n, n_column] of `in`, from the column first on.
    surrogate_array columns(int64_t first, int64_t n_column) {
        surrogate_array array = matrix(in.data() + first, points.n(), 3);
        array.shape[1] = n_column;
        return array;
    }
    Answer bind(Plan& to, const char* name, const surrogate_array& array,
                const char* unit = nullptr) {
        return answer(surrogate_plan_bind_input(to.get(), name, unit, &array));
    }
    static void expect(const Answer& found, surrogate_status status, const std::string& text) {
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(text)) << found;
    }

    static constexpr size_t n = 70;
    const ModelParts<float> parts{SURROGATE_TEST_DATA "/flare/odd.safetensors"};
    Context context;
    DarcyCase points{first_rows(n)};
    Domain domain = points.domain(context);
    std::vector<double> in;                                     // (n, 3)
    std::vector<double> out = std::vector<double>(2 * n, NAN);  // (n, 2)
    const std::vector<json> velocities{field("velocity.z"), field("velocity.x"),
                                       field("velocity.y")};
};

TEST_F(PlanNames, BeforeTheDotBindAllComponentsInAlphabeticalOrder) {
    Plan by_vector = plan(velocities, {"flux.y", "flux.x"});
    by_vector.bind_input("velocity", columns(0, 3), "m/s");
    by_vector.bind_output("flux", matrix(out.data(), points.n(), 2), "m/s");
    by_vector.run();
    Plan one_by_one = plan(velocities, {"flux.y", "flux.x"});
    std::vector<double> x(n), y(n);
    one_by_one.bind_input("velocity.x", columns(0, 1));
    one_by_one.bind_input("velocity.y", columns(1, 1));
    one_by_one.bind_input("velocity.z", columns(2, 1));
    one_by_one.bind_output("flux.x", column(x.data(), points.n()));
    one_by_one.bind_output("flux.y", column(y.data(), points.n()));
    one_by_one.run();
    for (size_t i = 0; i < n; ++i) {
        EXPECT_EQ(out[2 * i], x[i]);
        EXPECT_EQ(out[2 * i + 1], y[i]);
    }
    EXPECT_NE(x, y);
}

TEST_F(PlanNames, OfTensorsTakeTheirComponentsToo) {
    Plan stress = plan({field("stress.yy"), field("stress.xx"), field("stress.xy")}, {"u", "v"});
    EXPECT_EQ(bind(stress, "stress", columns(0, 3)).status, SURROGATE_SUCCESS);
    expect(bind(stress, "stress", columns(0, 2)), SURROGATE_SHAPE,
           "input 'stress' (stress.xx, stress.xy, stress.yy): array has shape (70, 2), the domain "
           "asks for (70, 3)");
}

TEST_F(PlanNames, OfAWholeFieldWin) {
    Plan both = plan({field("q.x"), field("q"), field("q.y")}, {"u", "v"});
    EXPECT_EQ(bind(both, "q", columns(0, 1)).status, SURROGATE_SUCCESS);
    expect(answer(surrogate_plan_run(both.get())), SURROGATE_INVALID_ARGUMENT,
           "input 'q.x' is not bound");
    expect(bind(both, "q", columns(0, 2)), SURROGATE_SHAPE, "input 'q': array");
}

TEST_F(PlanNames, WithOtherEndingsAreNoVectors) {
    Plan gas = plan({field("gas.CO"), field("gas.x1"), field("gas.")}, {"u", "v"});
    expect(bind(gas, "gas", columns(0, 3)), SURROGATE_UNKNOWN_NAME, "no input 'gas'");
    expect(bind(gas, "", columns(0, 3)), SURROGATE_UNKNOWN_NAME, "no input ''");
    EXPECT_EQ(bind(gas, "gas.CO", columns(0, 1)).status, SURROGATE_SUCCESS);
}

TEST_F(PlanNames, NearlyRightFindTheVector) {
    Plan flow = plan(velocities, {"u", "v"});
    expect(bind(flow, "velocty", columns(0, 3)), SURROGATE_UNKNOWN_NAME, "did you mean 'velocity'");
    expect(bind(flow, "velocity.", columns(0, 3)), SURROGATE_UNKNOWN_NAME, "'velocity.'");
}

TEST_F(PlanNames, RefusedForOneComponentBindNone) {
    Plan flow = plan({velocities[0], velocities[1], field("velocity.y", "km/h")}, {"u", "v"});
    expect(bind(flow, "velocity", columns(0, 3), "m/s"), SURROGATE_INVALID_ARGUMENT,
           "input 'velocity.y' is in 'km/h'");
    expect(bind(flow, "velocity", matrix(in.data(), 3, points.n())), SURROGATE_SHAPE, "transposed");
    expect(answer(surrogate_plan_run(flow.get())), SURROGATE_INVALID_ARGUMENT,
           "input 'velocity.z' is not bound");
}

TEST_F(PlanNames, OfCoordinatesComeFromTheDomain) {
    json x = field("place.x"), y = field("place.y");
    x["role"] = y["role"] = "coordinate";
    x["axis"] = 0;
    y["axis"] = 1;
    Plan where = plan({x, y, field("velocity.x")}, {"u", "v"});
    expect(bind(where, "place", columns(0, 2)), SURROGATE_INVALID_ARGUMENT,
           "comes from the domain; bind only: velocity.x");
    EXPECT_EQ(bind(where, "velocity", columns(0, 1)).status, SURROGATE_SUCCESS);
}

TEST_F(PlanNames, OfVectorsAreNotForBlocks) {
    Plan flow = plan(velocities, {"u", "v"});
    const surrogate_block one = block(in.data(), {7, 10}, {1, 7});
    expect(answer(surrogate_plan_bind_input_block(flow.get(), "velocity", nullptr, &one)),
           SURROGATE_SHAPE, "a block holds one field; bind each component");
    flow.bind_input("velocity.x", one);
}

}  // namespace
}  // namespace surrogate::test
