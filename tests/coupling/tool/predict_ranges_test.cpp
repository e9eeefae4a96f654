// SPDX-License-Identifier: Apache-2.0
// `surrogate predict` outside the ranges of the model: it warns, and fails with --strict.
#include <gtest/gtest.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>

#include <filesystem>
#include <limits>

#include "coupling/mesh/mesh_file.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"

namespace surrogate::test {
namespace {

/// The square, with the mobility of some points changed or all of it scaled.
struct Changes {
    std::vector<std::pair<vtkIdType, double>> mobility;
    double scale = 1;
    const char* unit = nullptr;
};

tool::PredictArguments changed(const std::string& name, const Changes& changes) {
    auto& job = MeshFolder::job();
    if (job.is_root()) {
        const auto grid = make_quads<vtkUnstructuredGrid>(Strip());
        vtkDataArray* values = grid->GetPointData()->GetArray("mobility");
        for (const auto& [point, value] : changes.mobility) values->SetComponent(point, 0, value);
        if (changes.unit != nullptr)
            values->GetInformation()->Set(vtkDataArray::UNITS_LABEL(), changes.unit);
        for (vtkIdType p = 0; p < grid->GetNumberOfPoints(); ++p) {
            double x[3];
            grid->GetPoint(p, x);
            for (double& c : x) c *= changes.scale;
            grid->GetPoints()->SetPoint(p, x);
        }
        write_grid<vtkXMLUnstructuredGridWriter>(grid, MeshFolder::in(name + ".vtu"));
    }
    job.barrier();
    tool::PredictArguments arguments;
    arguments.model = std::string(SURROGATE_SHARE) + "/models/darcy_flow.safetensors";
    arguments.mesh = MeshFolder::in(name + ".vtu");
    arguments.out = MeshFolder::in(name + "_out.vtu");
    arguments.at = "points";
    arguments.quiet = true;
    return arguments;
}

struct Outcome {
    tool::Exit status = tool::Exit::success;
    std::string error, out, err;  // the failure; what this rank printed
};

Outcome predict(const tool::PredictArguments& arguments) {
    Outcome outcome;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    try {
        tool::predict(MeshFolder::job(), arguments);
    } catch (const tool::Failure& failure) {
        outcome.status = failure.status();
        outcome.error = failure.what();
    }
    std::fflush(nullptr);
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    MeshFolder::job().barrier();
    return outcome;
}

std::string on_root(const std::string& text) {
    return MeshFolder::job().is_root() ? text : "";
}

bool is_written(const tool::PredictArguments& arguments) {
    return std::filesystem::exists(arguments.out);
}

TEST(PredictRanges, InsideNobodyIsWarnedAndStrictPasses) {
    auto arguments = changed("inside", {});
    arguments.strict = true;
    const Outcome outcome = predict(arguments);
    EXPECT_EQ(outcome.status, tool::Exit::success) << outcome.error;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(is_written(arguments));
}

// 140 points: 7 of them are 5 %. Each counts once, on any number of ranks.
TEST(PredictRanges, OutsideThereIsALineForEachFieldAlsoWhenQuiet) {
    Changes changes;
    for (vtkIdType p = 0; p < 7; ++p) changes.mobility.emplace_back(10 * p, 12.5);
    changes.mobility[3].second = 1e6;
    const auto arguments = changed("outside", changes);
    const Outcome outcome = predict(arguments);
    EXPECT_EQ(outcome.status, tool::Exit::success) << outcome.error;
    EXPECT_EQ(outcome.err, on_root("warning: mobility: 5 % of the points are outside [3, 12] "
                                   "m^2/(Pa s), the range of the training data; the worst is "
                                   "1e+06\n"));
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(is_written(arguments));
}

TEST(PredictRanges, TheWorstIsTheFarthestOnEitherSide) {
    const Outcome outcome = predict(changed("below", {{{0, 12.5}, {139, -7}}}));
    EXPECT_EQ(
        outcome.err.find("1.43 % of the points"),
        MeshFolder::job().is_root() ? std::string("warning: mobility: ").size() : std::string::npos)
        << outcome.err;
    EXPECT_EQ(outcome.err.find("the worst is -7\n") != std::string::npos,
              MeshFolder::job().is_root());
}

TEST(PredictRanges, CoordinatesInMillimetresAreSeen) {
    auto arguments = changed("millimetres", {{}, 1000});
    const Outcome outcome = predict(arguments);
    const std::string first = "warning: x: ", last = "the worst is 1e+03\n";
    EXPECT_EQ(outcome.err.rfind(on_root(first), 0), 0u) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'),
              MeshFolder::job().is_root() ? 2 : 0)
        << outcome.err;
    EXPECT_EQ(outcome.err.find(last) != std::string::npos, MeshFolder::job().is_root());
}

TEST(PredictRanges, StrictRefusesWithStatusOneAndWritesNothing) {
    auto arguments = changed("strict", {{{0, 1e6}}});
    arguments.strict = true;
    const Outcome outcome = predict(arguments);
    EXPECT_EQ(outcome.status, tool::Exit::not_passed);
    expect_words(outcome.error, {"outside the range", "--strict", "nothing is written"});
    EXPECT_EQ(outcome.err.find("warning: mobility") == 0, MeshFolder::job().is_root());
    EXPECT_FALSE(is_written(arguments));
}

TEST(PredictRanges, ANumberThatIsNoneIsTheWorst) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto arguments = changed("nan", {{{0, 1e6}, {77, nan}}});
    const Outcome outcome = predict(arguments);
    EXPECT_EQ(outcome.status, tool::Exit::not_passed);
    EXPECT_EQ(outcome.err.find("1.43 %") != std::string::npos, MeshFolder::job().is_root());
    EXPECT_EQ(outcome.err.find("the worst is nan") != std::string::npos,
              MeshFolder::job().is_root())
        << outcome.err;
    EXPECT_FALSE(is_written(arguments));
}

TEST(PredictUnits, ThatAreNotInTheFileAreSaidOnce) {
    auto arguments = changed("unlabeled", {});
    arguments.quiet = false;
    const std::string words = "arrays without a unit, taken as they are: mobility [m^2/(Pa s)]";
    const Outcome outcome = predict(arguments);
    const size_t at = outcome.out.find(words);
    EXPECT_EQ(at != std::string::npos, MeshFolder::job().is_root()) << outcome.out;
    EXPECT_EQ(outcome.out.rfind(words), at) << outcome.out;

    arguments = changed("labeled", {{}, 1, "m^2/(Pa s)"});
    arguments.quiet = false;
    EXPECT_EQ(predict(arguments).out.find("without a unit"), std::string::npos);
}

}  // namespace
}  // namespace surrogate::test
