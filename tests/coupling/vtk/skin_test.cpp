// SPDX-License-Identifier: Apache-2.0
// The C++ wrapper of series and figures, and the common error type of both libraries.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <surrogate/surrogate_vtk.hpp>
#include <vector>

#include "tests/coupling/vtk/read.hpp"

namespace surrogate::test {
namespace {

/// A failure of the library that has nothing to do with what comes next.
void provoke_an_older_error() {
    const Context context;
    EXPECT_THROW(Model(context, "/nofile"), Error);
    EXPECT_NE(std::string(surrogate_error(nullptr)).find("/nofile"), std::string::npos);
}

/// Calls `call`, which must throw an Error with this status and word, and without the older one's.
template <class Call>
void expect_error(surrogate_status status, const std::string& word, const Call& call) {
    provoke_an_older_error();
    try {
        call();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status) << error.what();
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
        EXPECT_EQ(std::string(error.what()).find("/nofile"), std::string::npos) << error.what();
        const std::string both = std::string(surrogate_status_name(status)) + ": ";
        EXPECT_EQ(error.what(), both + surrogate_error(nullptr));
    }
}

class VtkSkin : public testing::Test {
protected:
    surrogate_mesh points() { return cloud(matrix(x.data(), 4, 2)); }
    std::vector<surrogate_series_field> fields() {
        return {point_field("pressure", column(pressure.data(), 4), "Pa")};
    }

    const Folder folder;
    std::vector<double> x{0, 0, 1, 0, 0, 1, 1, 1}, pressure{1, 2, 3, 4};
};

TEST_F(VtkSkin, ErrorsOfTheVtkLibraryAreThoseThatCheckThrows) {
    expect_error(SURROGATE_IO, "No such file or directory",
                 [&] { Series(folder / "nodir/x.pvd"); });
    expect_error(SURROGATE_INVALID_ARGUMENT, ".pvd", [&] { Series(folder / "x.vtu"); });
    Series series(folder / "run.pvd");
    expect_error(SURROGATE_UNKNOWN_NAME, "compress", [&] { series.set("compres", "lz4"); });
    expect_error(SURROGATE_INVALID_ARGUMENT, "", [&] { series.publish({}); });
    expect_error(SURROGATE_SHAPE, "pressure", [&] {
        series.write_step(0, points(), {point_field("pressure", column(pressure.data(), 3))});
    });
    expect_error(SURROGATE_SHAPE, "one offset more", [&] {
        cells(matrix(x.data(), 4, 2), {0}, {0, 1, 2}, {5});
    });
    expect_error(SURROGATE_IO, "No such file or directory", [&] {
        write_png(folder / "nodir/x.png", {panel(grid_values(pressure.data(), 2, 2))});
    });
}

TEST_F(VtkSkin, ErrorsOfTheCInterfaceAreInBothPlaces) {
    provoke_an_older_error();
    surrogate_series* series = nullptr;
    const std::string path = folder / "no\x1b[31m/x.pvd";
    EXPECT_EQ(surrogate_series_create(path.c_str(), 0, 1, &series), SURROGATE_IO);
    EXPECT_STREQ(surrogate_error(nullptr), surrogate_vtk_error());
    EXPECT_NE(std::string(surrogate_error(nullptr)).find("no?[31m"), std::string::npos)
        << surrogate_error(nullptr);
    const std::string before = surrogate_vtk_error();
    provoke_an_older_error();
    EXPECT_EQ(surrogate_vtk_error(), before);
}

TEST_F(VtkSkin, StepsOfOneRankCanBeReadBack) {
    {
        Series series(folder / "run.pvd");
        series.set("compress", "none");
        series.write_step(0, points(), fields());
        pressure = {5, 6, 7, 8};
        series.write_step(0.5, cells(matrix(x.data(), 4, 2), {0, 4}, {0, 1, 3, 2}, {9}), fields());
    }
    EXPECT_TRUE(std::filesystem::exists(folder / "run/step_000001.vtu"));
    std::ifstream file(folder / "run.pvd");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(text.find("step_000000"), std::string::npos) << text;
    EXPECT_NE(text.find("step_000001"), std::string::npos) << text;
}

TEST_F(VtkSkin, PiecesOfManyRanksAreGatheredBeforeTheyAreChecked) {
    Series first(folder / "run.pvd", 0, 2), second(folder / "run.pvd", 1, 2);
    surrogate_piece all[2] = {first.write(0, points(), fields()),
                              second.write(0, points(), fields())};
    first.publish({all[0], all[1]});
    all[0] = first.write(1, points(), fields());
    all[1] = second.write(1, points(), {});  // another list of fields
    EXPECT_EQ(all[1].status, SURROGATE_SUCCESS);
    expect_error(SURROGATE_SHAPE, "rank 1", [&] { first.publish({all[0], all[1]}); });
    const surrogate_piece failed =
        second.write(2, points(), {point_field("pressure", column(pressure.data(), 3))});
    EXPECT_EQ(failed.status, SURROGATE_SHAPE);
    EXPECT_THROW(check(failed.status), Error);
    expect_error(SURROGATE_INVALID_ARGUMENT, "one rank",
                 [&] { first.write_step(3, points(), fields()); });
}

TEST_F(VtkSkin, ImagesAndPicturesAreWritten) {
    Series series(folder / "grid.pvd");
    surrogate_image image{};
    image.whole_extent[1] = image.extent[1] = image.whole_extent[3] = image.extent[3] = 2;
    for (double& spacing : image.spacing) spacing = 0.5;
    series.write_step(0, image, {cell_field("pressure", column(pressure.data(), 4))});
    EXPECT_TRUE(std::filesystem::exists(folder / "grid/step_000000.vti"));
    write_png(folder / "two.png",
              {panel(grid_values(pressure.data(), 2, 2)),
               panel(grid_values(pressure.data(), 2, 2), -4, 4, SURROGATE_COLOR_DIVERGING)});
    EXPECT_GT(std::filesystem::file_size(folder / "two.png"), 100u);
    const auto one = panel(grid_values(pressure.data(), 2, 2));
    write_png(folder / "words.png", "a heading", {one}, {label("a title", "pressure", "Pa")});
    EXPECT_GT(std::filesystem::file_size(folder / "words.png"),
              std::filesystem::file_size(folder / "two.png"));
    EXPECT_THROW(write_png(folder / "words.png", "", {one}, {}), Error);
}

}  // namespace
}  // namespace surrogate::test
