// SPDX-License-Identifier: Apache-2.0
// Checks the errors of series and their texts.
#include <filesystem>
#include <limits>

#include "tests/coupling/vtk/read.hpp"
#include "tests/coupling/vtk/series.hpp"

namespace surrogate::test {
namespace {

TEST(VtkSeriesRefusals, CreateRefusesWhatCannotBe) {
    const Folder folder;
    surrogate_series* series = nullptr;
    expect_refusal(surrogate_series_create(nullptr, 0, 1, &series),
                   {SURROGATE_INVALID_ARGUMENT, "path is NULL"});
    expect_refusal(surrogate_series_create((folder / "a.pvd").c_str(), 0, 1, nullptr),
                   {SURROGATE_INVALID_ARGUMENT, "series is NULL"});
    expect_refusal(surrogate_series_create((folder / "a.vtu").c_str(), 0, 1, &series),
                   {SURROGATE_INVALID_ARGUMENT, ".pvd"});
    expect_refusal(surrogate_series_create((folder / "a.pvd").c_str(), 2, 2, &series),
                   {SURROGATE_INVALID_ARGUMENT, "rank 2 of 2"});
    expect_refusal(surrogate_series_create((folder / "a\nb.pvd").c_str(), 0, 1, &series),
                   {SURROGATE_INVALID_ARGUMENT, "'a?b', has a control character"});
    EXPECT_FALSE(std::filesystem::exists(folder / "a\nb"));
    expect_refusal(surrogate_series_create((folder / "no/a.pvd").c_str(), 0, 1, &series),
                   {SURROGATE_IO, "No such file or directory"});
    EXPECT_EQ(series, nullptr);
    surrogate_series_close(&series);
    surrogate_series_close(nullptr);
}

TEST(VtkSeriesRefusals, SetRefusesUnknownKeysAndValues) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    expect_refusal(surrogate_series_set(ranks.at(0), "compres", "lz4"),
                   {SURROGATE_UNKNOWN_NAME, "compress"});
    expect_refusal(surrogate_series_set(ranks.at(0), "compress", "gz"),
                   {SURROGATE_INVALID_ARGUMENT, "zlib"});
    Cloud cloud(3, 0);
    ASSERT_EQ(text_of(cloud.write(ranks.at(0), 0, ranks.piece(0))), success);
    expect_refusal(surrogate_series_set(ranks.at(0), "compress", "lz4"),
                   {SURROGATE_INVALID_ARGUMENT, "before the first write"});
}

TEST(VtkSeriesRefusals, WriteRefusesFieldsThatDoNotFit) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    Cloud cloud(3, 0);
    const auto mesh = cloud.mesh();
    surrogate_piece piece;
    const auto refuse = [&](const surrogate_series_field& wrong, const Refusal& wanted) {
        expect_refusal(surrogate_series_write_mesh(ranks.at(0), 0, &mesh, 1, &wrong, &piece),
                       wanted);
        EXPECT_EQ(piece.status, wanted.status);
    };
    std::vector<double> four(4);
    refuse(field("four", SURROGATE_POINT, column(four.data(), 4)),
           {SURROGATE_SHAPE, "'four' has 4 rows, this rank's mesh has 3 points"});
    refuse(field("four", SURROGATE_CELL, column(four.data(), 4)), {SURROGATE_SHAPE, "3 cells"});
    refuse(field("four", 7, column(four.data(), 3)), {SURROGATE_INVALID_ARGUMENT, "location 7"});
    refuse(field(nullptr, SURROGATE_POINT, column(four.data(), 3)),
           {SURROGATE_INVALID_ARGUMENT, "name"});
    refuse(field("", SURROGATE_POINT, column(four.data(), 3)),
           {SURROGATE_INVALID_ARGUMENT, "empty"});
    refuse(field("null", SURROGATE_POINT, column<double>(nullptr, 3)),
           {SURROGATE_INVALID_ARGUMENT, "data NULL"});
    refuse(field("none", SURROGATE_POINT, matrix(four.data(), 3, 0)),
           {SURROGATE_SHAPE, "no component"});
    surrogate_array elsewhere = column(four.data(), 3);
    elsewhere.space = SURROGATE_CUDA;
    refuse(field("device", SURROGATE_POINT, elsewhere), {SURROGATE_NOT_SUPPORTED, "host"});
    surrogate_array untyped = column(four.data(), 3);
    untyped.dtype = 99;
    refuse(field("type", SURROGATE_POINT, untyped), {SURROGATE_INVALID_ARGUMENT, "dtype 99"});
    constexpr int64_t huge = std::numeric_limits<int64_t>::max();
    refuse(field("wide", SURROGATE_POINT, matrix(four.data(), 3, huge)),
           {SURROGATE_LIMIT, "2^31 - 1 columns"});
    refuse(field("far", SURROGATE_POINT, column(four.data(), 3, huge)),
           {SURROGATE_SHAPE, "out of the address space"});
    surrogate_mesh many = mesh;
    many.points.shape[0] = huge;
    expect_refusal(surrogate_series_write_mesh(ranks.at(0), 0, &many, 0, nullptr, &piece),
                   {SURROGATE_LIMIT, "mesh.points"});
    many = mesh;
    many.n_cells = huge;
    expect_refusal(surrogate_series_write_mesh(ranks.at(0), 0, &many, 0, nullptr, &piece),
                   {SURROGATE_LIMIT, "mesh.n_cells is 9223372036854775807"});
}

TEST(VtkSeriesRefusals, WriteRefusesNullsAndTimes) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    Cloud cloud(3, 0);
    const auto mesh = cloud.mesh();
    surrogate_piece piece;
    expect_refusal(surrogate_series_write_mesh(nullptr, 0, &mesh, 0, nullptr, &piece),
                   {SURROGATE_INVALID_ARGUMENT, "series is NULL"});
    EXPECT_EQ(piece.status, SURROGATE_INVALID_ARGUMENT);
    expect_refusal(surrogate_series_write_mesh(ranks.at(0), 0, nullptr, 0, nullptr, &piece),
                   {SURROGATE_INVALID_ARGUMENT, "mesh is NULL"});
    expect_refusal(surrogate_series_write_mesh(ranks.at(0), 0, &mesh, 0, nullptr, nullptr),
                   {SURROGATE_INVALID_ARGUMENT, "piece is NULL"});
    expect_refusal(surrogate_series_write_mesh(ranks.at(0), 0, &mesh, 1, nullptr, &piece),
                   {SURROGATE_INVALID_ARGUMENT, "fields is NULL"});
    expect_refusal(surrogate_series_write_image(ranks.at(0), 0, nullptr, 0, nullptr, &piece),
                   {SURROGATE_INVALID_ARGUMENT, "image is NULL"});
    const double nan = std::numeric_limits<double>::quiet_NaN();
    expect_refusal(cloud.write(ranks.at(0), nan, &piece), {SURROGATE_INVALID_ARGUMENT, "finite"});
    ASSERT_EQ(text_of(cloud.write(ranks.at(0), 2, ranks.piece(0))), success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    expect_refusal(cloud.write(ranks.at(0), 2, &piece),
                   {SURROGATE_INVALID_ARGUMENT, "the time of the last published step"});
}

TEST(VtkSeriesRefusals, WriteRefusesCellsThatNamePointsNotThere) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    std::vector<double> x(9);
    std::vector<int64_t> offsets = {0, 3}, connectivity = {0, 1, 3};
    std::vector<uint8_t> types = {5};
    surrogate_mesh mesh = {matrix(x.data(), 3, 3), 1, offsets.data(), connectivity.data(),
                           types.data()};
    surrogate_piece piece;
    const auto write = [&] {
        return surrogate_series_write_mesh(ranks.at(0), 0, &mesh, 0, nullptr, &piece);
    };
    expect_refusal(write(), {SURROGATE_SHAPE, "mesh.connectivity[2] is 3"});
    connectivity[2] = 2;
    offsets = {0, -1};
    expect_refusal(write(), {SURROGATE_SHAPE, "decreases"});
    offsets = {0, 3};
    types = {42};
    expect_refusal(write(), {SURROGATE_NOT_SUPPORTED, "polyhedron"});
    types = {5};
    mesh.types = nullptr;
    expect_refusal(write(), {SURROGATE_INVALID_ARGUMENT, "mesh.types is NULL"});
    mesh.types = types.data();
    mesh.points.shape[1] = 4;
    expect_refusal(write(), {SURROGATE_SHAPE, "1 to 3"});
}

TEST(VtkSeriesRefusals, WriteRefusesExtentsThatDoNotFit) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    surrogate_piece piece;
    const auto refuse = [&](surrogate_image image, const Refusal& wanted) {
        expect_refusal(surrogate_series_write_image(ranks.at(0), 0, &image, 0, nullptr, &piece),
                       wanted);
    };
    refuse(block_image(0, 6, 0, 4), {SURROGATE_SHAPE, "leaves the whole extent"});
    refuse(block_image(-1, 5, 0, 4), {SURROGATE_SHAPE, "{-1, 5, 0, 4, 0, 0}"});
    surrogate_image image = block_image(0, 5, 0, 4);
    image.whole_extent[1] = -1;
    refuse(image, {SURROGATE_SHAPE, "empty"});
    image = block_image(0, 5, 0, 4);
    image.spacing[2] = 0;
    refuse(image, {SURROGATE_INVALID_ARGUMENT, "axis 2"});
}

TEST(VtkSeriesRefusals, PublishRefusesPiecesThatDoNotBelongTogether) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    expect_refusal(ranks.publish(), {SURROGATE_INVALID_ARGUMENT, "no step"});
    Cloud left(3, 0), right(4, 3);
    ASSERT_EQ(text_of(left.write(ranks.at(0), 0, ranks.piece(0))), success);
    expect_refusal(surrogate_series_publish(ranks.at(0), 1, ranks.pieces.data()),
                   {SURROGATE_INVALID_ARGUMENT, "2 ranks"});
    expect_refusal(surrogate_series_publish(ranks.at(1), 2, ranks.pieces.data()),
                   {SURROGATE_INVALID_ARGUMENT, "only rank 0"});
    expect_refusal(surrogate_series_publish(ranks.at(0), 2, nullptr),
                   {SURROGATE_INVALID_ARGUMENT, "pieces is NULL"});

    auto mesh = right.mesh();
    auto fields = right.fields();
    ASSERT_EQ(text_of(surrogate_series_write_mesh(ranks.at(1), 0, &mesh, 2, fields.data(),
                                                  ranks.piece(1))),
              success);
    expect_refusal(ranks.publish(), {SURROGATE_SHAPE, "rank 1 has other fields"});
    ASSERT_EQ(text_of(right.write(ranks.at(1), 1, ranks.piece(1))), success);
    expect_refusal(ranks.publish(), {SURROGATE_INVALID_ARGUMENT, "step 1"});
    EXPECT_FALSE(std::filesystem::exists(folder / "run.pvd"));

    ASSERT_EQ(text_of(left.write(ranks.at(0), 1, ranks.piece(0))), success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    expect_refusal(ranks.publish(), {SURROGATE_INVALID_ARGUMENT, "already"});
}

TEST(VtkSeriesRefusals, PublishRefusesBlocksWithAGap) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    Block left(block_image(0, 2, 0, 4)), right(block_image(3, 5, 0, 4));
    ASSERT_EQ(text_of(left.write(ranks.at(0), 0, ranks.piece(0))), success);
    ASSERT_EQ(text_of(right.write(ranks.at(1), 0, ranks.piece(1))), success);
    expect_refusal(ranks.publish(), {SURROGATE_SHAPE, "16 cells, the whole grid has 20"});
}

}  // namespace
}  // namespace surrogate::test
