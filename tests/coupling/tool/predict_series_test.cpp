// SPDX-License-Identifier: Apache-2.0
// `surrogate predict` of a series: every step as a mesh of its own would be predicted, the times
// taken over, and whole steps on the disk whatever happens.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <optional>

#include "coupling/file/file_lock.hpp"
#include "coupling/mesh/mesh_file.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"

namespace surrogate::test {
namespace {

namespace fs = std::filesystem;
using tool::PredictArguments;
using vtk::SeriesStep;

/// A step: the square or its left half, its points moved by `shift`, its field times `factor`.
vtkSmartPointer<vtkUnstructuredGrid> step_grid(double shift, double factor, int i_end = n_x) {
    const auto grid = make_quads<vtkUnstructuredGrid>(Strip{0, i_end});
    vtkPoints* points = grid->GetPoints();
    for (vtkIdType i = 0; i < points->GetNumberOfPoints(); ++i) {
        double x[3];
        points->GetPoint(i, x);
        x[0] += shift * std::sin(3 * x[1]);
        points->SetPoint(i, x);
    }
    auto* field = vtkDoubleArray::SafeDownCast(grid->GetPointData()->GetArray("mobility"));
    for (vtkIdType i = 0; i < field->GetNumberOfTuples(); ++i)
        field->SetValue(i, factor * field->GetValue(i));
    return grid;
}

class PredictSeries : public PredictFolder {
protected:
    void SetUp() override {
        PredictFolder::SetUp();
        on_root([this] {
            fs::create_directory(at("run"));
            write_step(0, step_grid(0, 1));
            write_step(1, step_grid(0, 0.9));        // the same points
            write_step(2, step_grid(0.01, 0.95));    // moved
            write_step(3, step_grid(0.01, 0.8, 7));  // fewer
            write_step(4, step_grid(0.02, 0.85));    // more
            write_series("run.pvd", {0, 0.125, 0.1 + 0.2, 1, 1e300});
        });
    }
    static std::string step(size_t i) { return "run/step_00000" + std::to_string(i) + ".vtu"; }
    void write_step(size_t i, vtkDataSet* grid) const {
        write_grid<vtkXMLUnstructuredGridWriter>(grid, at(step(i)));
    }
    void write_series(const std::string& file, const std::vector<double>& times) const {
        std::vector<SeriesStep> steps;
        for (size_t i = 0; i < times.size(); ++i) steps.push_back({times[i], step(i)});
        vtk::write_atomically(at(file), vtk::pvd_text(steps));
    }
    PredictArguments arguments(const std::string& mesh = "run.pvd",
                               const std::string& out = "out.pvd") const {
        return PredictFolder::arguments(mesh, out);
    }
    PredictArguments resuming() const {
        PredictArguments result = arguments();
        result.resume = true;
        return result;
    }
    std::vector<double> pressure(const std::string& file) const {
        return vtk::MeshFile(at(file), 0, 1).values(SURROGATE_POINT, "pressure", 0);
    }
    std::vector<PvdStep> steps() const { return read_pvd(at("out.pvd")); }
    void break_step(size_t i) const {
        on_root([&] { write_step(i, step_grid(0, std::numeric_limits<double>::quiet_NaN())); });
    }
};

TEST_F(PredictSeries, StepsAreThoseOfMeshesOnTheirOwn) {
    predict(arguments());
    const auto found = steps();
    ASSERT_EQ(found.size(), 5u);
    const std::vector<double> times = {0, 0.125, 0.1 + 0.2, 1, 1e300};
    for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].time_s, times[i]);
        EXPECT_EQ(found[i].file, "out/step_00000" + std::to_string(i) + ".vtu");
        predict(arguments(step(i), "alone_" + std::to_string(i) + ".vtu"));
        EXPECT_EQ(pressure(found[i].file), pressure("alone_" + std::to_string(i) + ".vtu")) << i;
    }
}

TEST_F(PredictSeries, OfParallelMeshesIsInPieces) {
    on_root([this] {
        vtk::write_atomically(at("pieces.pvd"),
                              vtk::pvd_text({{2.5, "../two.pvtu"}, {3.5, "../ghosts.pvtu"}}));
    });
    predict(arguments("pieces.pvd"));
    ASSERT_EQ(steps().size(), 2u);
    EXPECT_EQ(steps()[1].file, "out/step_000001.pvtu");
    EXPECT_TRUE(fs::exists(at("out/step_000001/step_000001_0000.vtu")));
    predict(arguments("../ghosts.pvtu", "alone.pvtu"));
    EXPECT_EQ(pressure("out/step_000001.pvtu"), pressure("alone.pvtu"));
}

TEST_F(PredictSeries, AFailedStepLeavesTheStepsBeforeItAndIsResumed) {
    predict(arguments("run.pvd", "whole.pvd"));
    break_step(2);
    expect_words(
        refusal(arguments(), tool::Exit::not_passed),
        {"step 3 of 5", "time 0.3", at(step(2)), "mobility", "the 2 steps before it", "--resume"});
    ASSERT_EQ(steps().size(), 2u);
    const auto before = files();
    expect_words(refusal(arguments()), {"out.pvd' exists", "--overwrite", "--resume"});
    EXPECT_EQ(files(), before);
    on_root([this] { write_step(2, step_grid(0.01, 0.95)); });
    predict(resuming());
    ASSERT_EQ(steps().size(), 5u);
    for (size_t i = 0; i < 5; ++i) {
        const std::string file = "/step_00000" + std::to_string(i) + ".vtu";
        EXPECT_EQ(pressure("out" + file), pressure("whole" + file)) << i;
    }
    const auto complete = files();
    EXPECT_EQ(complete.at("out/step_000000.vtu"), before.at("out/step_000000.vtu"));
    predict(resuming());  // nothing is left to do
    EXPECT_EQ(files(), complete);
}

TEST_F(PredictSeries, ResumeBeginsWhereThereIsNothing) {
    predict(resuming());
    EXPECT_EQ(steps().size(), 5u);
}

TEST_F(PredictSeries, WhatIsNotTheSameSeriesIsNotResumed) {
    on_root([this] { write_series("two.pvd", {0, 0.125}); });
    predict(arguments("two.pvd"));
    const auto before = files();
    PredictArguments options = resuming();
    options.options = {{"reproducible", "true"}};
    expect_words(refusal(options), {"--resume", "options", "out/predict.json"});
    options = resuming();
    options.maps = {{"pressure", "p"}};
    expect_words(refusal(options), {"--resume", "other arrays"});
    EXPECT_EQ(files(), before);
    on_root([this] { write_series("other.pvd", {0, 0.25, 0.5}); });
    options = resuming();
    options.mesh = at("other.pvd");
    expect_words(refusal(options), {"--resume", "times", "other.pvd"});
    on_root([this] { fs::rename(at("out/predict.json"), at("note")); });
    expect_words(refusal(resuming()), {"--resume", "predict.json"});
    predict([&] {
        options = resuming();
        options.out = at("new.pvd");
        return options;
    }());
    EXPECT_EQ(read_pvd(at("new.pvd")).size(), 5u);
}

TEST_F(PredictSeries, AnEarlierSeriesStaysUntilTheFirstNewStep) {
    predict(arguments());
    on_root([this] { vtk::write_atomically(at("out/mine.txt"), "kept"); });
    const auto before = files();
    PredictArguments options = arguments();
    options.overwrite = true;
    break_step(0);
    expect_words(refusal(options, tool::Exit::not_passed), {"step 1 of 5", "not a finite number"});
    for (const auto& [name, content] : before) {
        if (name == step(0)) continue;
        EXPECT_EQ(files().at(name), content) << name;
    }
    on_root([this] { write_step(0, step_grid(0, 1)); });
    break_step(1);
    refusal(options, tool::Exit::not_passed);
    ASSERT_EQ(steps().size(), 1u);
    EXPECT_EQ(steps()[0].file, "out_1/step_000000.vtu");
    EXPECT_EQ(files().count("out/step_000000.vtu"), 0u);
    EXPECT_EQ(files().at("out/mine.txt"), "kept");
    on_root([this] { write_step(1, step_grid(0, 0.9)); });
    predict(resuming());
    EXPECT_EQ(steps().size(), 5u);
    EXPECT_EQ(pressure("out_1/step_000000.vtu").size(), size_t{n_points});
}

TEST_F(PredictSeries, FilesOfOthersInItsFolderStay) {
    on_root([this] {
        fs::create_directory(at("out"));
        vtk::write_atomically(at("out/predict.json"), "my notes");
        fs::create_directory(at("out_1"));
        fs::create_symlink("../" + step(0), at("out_1/predict.json"));
    });
    const auto before = files();
    predict(arguments());
    EXPECT_EQ(steps()[0].file, "out_2/step_000000.vtu");
    for (const auto& [name, content] : before) EXPECT_EQ(files().at(name), content) << name;
    // A series that a user names out.pvd, with notes.
    on_root([this] { fs::rename(at("run"), at("mine")); });
    on_root([this] {
        vtk::write_atomically(at("mine/predict.json"), "my notes");
        vtk::write_atomically(at("in.pvd"), vtk::pvd_text({{0, "mine/step_000000.vtu"}}));
        vtk::write_atomically(at("mine.pvd"), vtk::pvd_text({{0, "mine/step_000000.vtu"}}));
    });
    PredictArguments options = arguments("in.pvd", "mine.pvd");
    options.overwrite = true;
    const auto again = files();
    expect_words(refusal(options), {"would replace", "mine/step_000000.vtu", "one of its meshes"});
    EXPECT_EQ(files(), again);
    options.mesh = at("out.pvd");
    predict(options);
    EXPECT_EQ(files().at("mine/predict.json"), "my notes");
}

TEST_F(PredictSeries, OfTwoProgramsIsThatOfTheFirst) {
    std::optional<file::FileLock> lock;
    on_root([&] { lock.emplace(file::lock_of(at("out.pvd")), "it"); });
    const auto before = files();
    expect_words(refusal(arguments()), {"out.pvd", "is in use by process "});
    EXPECT_EQ(files(), before);
    on_root([&] { lock.reset(); });
}

TEST_F(PredictSeries, ASeriesThatIsCutOffIsNotAShorterOne) {
    const std::string whole = bytes_of(at("run.pvd"));
    for (size_t n = 1; n < whole.size() - 1; n += 1 + n / 4) {
        on_root([&] { vtk::write_atomically(at("cut.pvd"), whole.substr(0, n)); });
        expect_words(refusal(arguments("cut.pvd")), {"cut.pvd' is damaged or cut off"});
    }
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = whole;
        for (size_t at; (at = text.find(from)) != std::string::npos;)
            text.replace(at, from.size(), to);
        on_root([&] { vtk::write_atomically(at("other.pvd"), text); });
        return refusal(arguments("other.pvd"));
    };
    expect_words(with("type=\"Collection\"", "type=\"UnstructuredGrid\""), {"is not a series"});
    expect_words(with("VTKFile", "x"), {"is not a series"});
    expect_words(with("<Collection>", "<Collected>"), {"damaged"});
    EXPECT_FALSE(fs::exists(at("out")));
}

TEST_F(PredictSeries, StrictEndsAtTheFirstStepOutside) {
    on_root([this] { write_step(1, step_grid(0, 9)); });
    PredictArguments options = arguments();
    options.strict = true;
    expect_words(refusal(options, tool::Exit::not_passed), {"step 2 of 5", "--strict"});
    EXPECT_EQ(steps().size(), 1u);
}

TEST_F(PredictSeries, NamesThatCannotBeAreRefused) {
    const auto before = files();
    expect_words(refusal(arguments("run.pvd", "out.vtu")), {"is a series", "NAME.pvd"});
    expect_words(refusal(arguments(step(0), "out.pvd")), {"out.pvd", "one mesh"});
    PredictArguments options = arguments("run.pvd", "./run.pvd");
    options.overwrite = true;
    expect_words(refusal(options), {"would replace", "the series itself"});
    expect_words(refusal(arguments("none.pvd")), {"none.pvd", "no series"});
    expect_words(refusal(arguments("run.pvd", "no/folder.pvd")), {"cannot write", "no/"});
    options = arguments(step(0), "out.vtu");
    options.resume = true;
    expect_words(refusal(options), {"--resume", "one mesh"});
    EXPECT_EQ(files(), before);
}

TEST_F(PredictSeries, FilesThatAreNoSeriesAreRefused) {
    const auto expect = [&](const std::string& body, std::initializer_list<std::string> words) {
        on_root([&] {
            vtk::write_atomically(at("bad.pvd"), "<VTKFile type=\"Collection\"><Collection>" +
                                                     body + "</Collection></VTKFile>");
        });
        expect_words(refusal(arguments("bad.pvd")), words);
    };
    const auto entry = [](const std::string& time, const std::string& file) {
        return "<DataSet timestep=\"" + time + "\" file=\"" + file + "\"/>";
    };
    expect("", {"bad.pvd", "no mesh"});
    expect("<DataSet file=\"run/step_000000.vtu\"/>", {"timestep", "not a number"});
    expect(entry("soon", step(0)), {"'soon'", "not a number"});
    expect(entry("nan", step(0)), {"not a number"});
    expect(entry("1", step(0)) + entry("1.0", step(1)), {"two files at time 1.0", ".pvtu"});
    expect(entry("1", "run/all.vtm"), {"all.vtm", ".vtu"});
    expect(entry("1", "run/none.vtu"), {"step 1 of 1", "none.vtu"});
    EXPECT_FALSE(fs::exists(at("out.pvd")));
}

}  // namespace
}  // namespace surrogate::test
