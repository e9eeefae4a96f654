// SPDX-License-Identifier: Apache-2.0
// Series written from plain arrays, read back through VTK's readers and compared.
#include <gtest/gtest.h>
#include <surrogate/surrogate_vtk.h>
#include <vtkCell.h>
#include <vtkCellData.h>
#include <vtkImageData.h>
#include <vtkInformation.h>
#include <vtkInformationStringKey.h>
#include <vtkPointData.h>
#include <vtkXMLImageDataReader.h>
#include <vtkXMLPImageDataReader.h>
#include <vtkXMLPUnstructuredGridReader.h>
#include <vtkXMLUnstructuredGridReader.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "tests/coupling/vtk_read.hpp"

namespace surrogate::test {
namespace {

const std::string success;

/// The text of a failed call, "" of one that succeeded: so that a test prints the reason.
std::string text_of(surrogate_status status) {
    return status == SURROGATE_SUCCESS ? success : surrogate_vtk_error();
}

/// The series of all ranks of a job, played by one process.
class Ranks {
public:
    Ranks(const std::string& path, int32_t size)
        : pieces(static_cast<size_t>(size)), series_(static_cast<size_t>(size)) {
        for (int32_t rank = 0; rank < size; ++rank)
            EXPECT_EQ(text_of(surrogate_series_create(path.c_str(), rank, size, &at(rank))),
                      success);
    }
    ~Ranks() {
        for (auto& series : series_) surrogate_series_close(&series);
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    surrogate_series*& at(int32_t rank) { return series_[static_cast<size_t>(rank)]; }
    surrogate_piece* piece(int32_t rank) { return &pieces[static_cast<size_t>(rank)]; }
    surrogate_status publish() {
        return surrogate_series_publish(at(0), static_cast<int32_t>(pieces.size()), pieces.data());
    }

    std::vector<surrogate_piece> pieces;

private:
    std::vector<surrogate_series*> series_;
};

surrogate_series_field field(const char* name, int32_t location, const surrogate_array& array,
                             const char* unit = nullptr) {
    return {name, unit, location, array};
}

/// Points of one rank with a float and a double field, both strided, and an id.
struct Cloud {
    Cloud(int64_t n_points, int64_t first_id) : n(n_points), x(3 * n), both(4 * n), id(n) {
        for (int64_t i = 0; i < n; ++i) {
            const auto k = static_cast<size_t>(i);
            id[k] = first_id + i;
            for (size_t c = 0; c < 3; ++c)
                x[3 * k + c] = std::sin(0.1 * static_cast<double>(id[k] + 7 * int64_t(c)));
            for (size_t c = 0; c < 4; ++c)
                both[4 * k + c] = 1.0 / static_cast<double>(3 * id[k] + 1 + int64_t(c));
            temperature.push_back(static_cast<float>(both[4 * k]));
        }
    }
    surrogate_mesh mesh() { return {matrix(x.data(), n, 3), 0, nullptr, nullptr, nullptr}; }
    std::vector<surrogate_series_field> fields() {
        surrogate_array velocity = matrix(both.data() + 1, n, 3);
        velocity.stride[0] = 4;  // three of four interlaced columns
        return {field("temperature", SURROGATE_POINT, column(temperature.data(), n), "K"),
                field("velocity", SURROGATE_POINT, velocity, "m/s"),
                field("id", SURROGATE_CELL, {id.data(), {n, 1}, {1, 1}, SURROGATE_INT64, 0})};
    }
    surrogate_status write(surrogate_series* series, double time_s, surrogate_piece* piece) {
        const auto m = mesh();
        const auto list = fields();
        return surrogate_series_write_mesh(series, time_s, &m, static_cast<int32_t>(list.size()),
                                           list.data(), piece);
    }

    int64_t n;
    std::vector<double> x, both;
    std::vector<int64_t> id;
    std::vector<float> temperature;
};

std::string unit_in(vtkDataArray* array) {
    const char* unit = array->GetInformation()->Get(vtkDataArray::UNITS_LABEL());
    return unit == nullptr ? "" : unit;
}

/// Rows of `grid` from `first` on are exactly the cloud.
void expect_cloud(vtkDataSet* grid, int64_t first, const Cloud& cloud) {
    vtkDataArray* temperature = grid->GetPointData()->GetArray("temperature");
    vtkDataArray* velocity = grid->GetPointData()->GetArray("velocity");
    vtkDataArray* id = grid->GetCellData()->GetArray("id");
    ASSERT_TRUE(temperature && velocity && id);
    EXPECT_EQ(temperature->GetDataType(), VTK_FLOAT);
    EXPECT_EQ(velocity->GetDataType(), VTK_DOUBLE);
    EXPECT_EQ(unit_in(temperature), "K");
    EXPECT_EQ(unit_in(velocity), "m/s");
    for (int64_t i = 0; i < cloud.n; ++i) {
        const auto k = static_cast<size_t>(i);
        for (int c = 0; c < 3; ++c) {
            ASSERT_EQ(grid->GetPoint(first + i)[c], cloud.x[3 * k + static_cast<size_t>(c)]);
            ASSERT_EQ(velocity->GetComponent(first + i, c),
                      cloud.both[4 * k + 1 + static_cast<size_t>(c)]);
        }
        ASSERT_EQ(temperature->GetComponent(first + i, 0), cloud.temperature[k]);
        ASSERT_EQ(id->GetComponent(first + i, 0), static_cast<double>(cloud.id[k]));
    }
}

TEST(VtkSeries, PiecesOfAThousandNoneAndFiveHundredPointsComeBackWhole) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 3);
    Cloud first(1000, 0), none(0, 1000), last(500, 1000);
    EXPECT_EQ(text_of(first.write(ranks.at(0), 0.5, ranks.piece(0))), success);
    EXPECT_EQ(text_of(none.write(ranks.at(1), 0.5, ranks.piece(1))), success);
    EXPECT_EQ(text_of(last.write(ranks.at(2), 0.5, ranks.piece(2))), success);
    ASSERT_EQ(text_of(ranks.publish()), success);

    const auto steps = read_pvd(folder / "run.pvd");
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].file, "run/step_000000.pvtu");
    EXPECT_FALSE(std::filesystem::exists(folder / "run/step_000000_0001.vtu"));
    const auto grid = read<vtkXMLPUnstructuredGridReader>(folder / steps[0].file);
    ASSERT_EQ(grid->GetNumberOfPoints(), 1500);
    ASSERT_EQ(grid->GetNumberOfCells(), 1500);
    EXPECT_EQ(grid->GetCellType(1200), VTK_VERTEX);
    expect_cloud(grid, 0, first);
    expect_cloud(grid, 1000, last);
}

TEST(VtkSeries, OneRankWritesOneFileAStep) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    Cloud cloud(10, 0);
    ASSERT_EQ(text_of(cloud.write(ranks.at(0), 0, ranks.piece(0))), success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    const auto steps = read_pvd(folder / "run.pvd");
    ASSERT_EQ(steps.at(0).file, "run/step_000000.vtu");
    expect_cloud(read<vtkXMLUnstructuredGridReader>(folder / steps[0].file), 0, cloud);
}

TEST(VtkSeries, CellsByConnectivityAndPlaneFloatCoordinates) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    std::vector<float> x = {0, 0, 1, 0, 1, 1, 0, 1, 2, 0};
    const std::vector<int64_t> offsets = {0, 4, 7}, connectivity = {0, 1, 2, 3, 1, 4, 2};
    const std::vector<uint8_t> types = {9, 5};
    std::vector<double> source = {1.5, -2.5};
    const surrogate_mesh mesh = {matrix(x.data(), 5, 2), 2, offsets.data(), connectivity.data(),
                                 types.data()};
    const auto source_field = field("source", SURROGATE_CELL, column(source.data(), 2));
    ASSERT_EQ(text_of(surrogate_series_write_mesh(ranks.at(0), 1, &mesh, 1, &source_field,
                                                  ranks.piece(0))),
              success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    const auto grid = read<vtkXMLUnstructuredGridReader>(folder / "run/step_000000.vtu");
    ASSERT_EQ(grid->GetNumberOfCells(), 2);
    EXPECT_EQ(grid->GetCellType(0), VTK_QUAD);
    EXPECT_EQ(grid->GetCell(1)->GetPointId(1), 4);
    EXPECT_EQ(grid->GetPoint(4)[0], 2.0);
    EXPECT_EQ(grid->GetPoint(2)[2], 0.0);
    EXPECT_EQ(grid->GetCellData()->GetArray("source")->GetComponent(1, 0), -2.5);
}

/// A block of a grid of 5 x 4 cells with the cell's number in the whole grid, in reversed memory.
struct Block {
    explicit Block(const surrogate_image& block_image) : image(block_image) {
        for (int j = image.extent[2]; j < image.extent[3]; ++j)
            for (int i = image.extent[0]; i < image.extent[1]; ++i)
                backwards.insert(backwards.begin(), static_cast<float>(i + 5 * j));
    }
    surrogate_status write(surrogate_series* series, double time_s, surrogate_piece* piece) {
        const auto n = static_cast<int64_t>(backwards.size());
        surrogate_array array = column(backwards.data(), n, -1);
        if (n > 0) array.data = &backwards.back();
        const auto list = field("number", SURROGATE_CELL, array, "1");
        return surrogate_series_write_image(series, time_s, &image, 1, &list, piece);
    }
    surrogate_image image;
    std::vector<float> backwards;
};

surrogate_image block_image(int x_first, int x_last, int y_first, int y_last) {
    return {
        {0, 5, 0, 4, 0, 0}, {x_first, x_last, y_first, y_last, 0, 0}, {1, 2, 0}, {0.5, 0.25, 1}};
}

TEST(VtkSeries, BlocksOfAPlaneGridComeBackAsOneImage) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 4);
    std::vector<Block> blocks = {Block(block_image(0, 2, 0, 4)), Block(block_image(2, 5, 0, 1)),
                                 Block(block_image(2, 5, 1, 4)),
                                 Block(block_image(5, 5, 0, 4))};  // no cell of its own
    for (int rank = 0; rank < 4; ++rank)
        ASSERT_EQ(
            text_of(blocks[static_cast<size_t>(rank)].write(ranks.at(rank), 3, ranks.piece(rank))),
            success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    const auto grid = read<vtkXMLPImageDataReader>(folder / "run/step_000000.pvti");
    auto* image = vtkImageData::SafeDownCast(grid);
    ASSERT_NE(image, nullptr);
    ASSERT_EQ(image->GetNumberOfCells(), 20);
    EXPECT_EQ(image->GetOrigin()[1], 2.0);
    EXPECT_EQ(image->GetSpacing()[0], 0.5);
    vtkDataArray* number = image->GetCellData()->GetArray("number");
    ASSERT_NE(number, nullptr);
    EXPECT_EQ(number->GetDataType(), VTK_FLOAT);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(number->GetComponent(i, 0), i);
}

TEST(VtkSeries, PointFieldsOfBlocksShareTheirBorder) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    for (int rank = 0; rank < 2; ++rank) {
        const surrogate_image image = {
            {0, 6, 0, 0, 0, 0}, {3 * rank, 3 * rank + 3, 0, 0, 0, 0}, {0, 0, 0}, {1, 1, 1}};
        std::vector<double> value = {3.0 * rank, 3.0 * rank + 1, 3.0 * rank + 2, 3.0 * rank + 3};
        const auto list = field("value", SURROGATE_POINT, column(value.data(), 4));
        ASSERT_EQ(text_of(surrogate_series_write_image(ranks.at(rank), 0, &image, 1, &list,
                                                       ranks.piece(rank))),
                  success);
    }
    ASSERT_EQ(text_of(ranks.publish()), success);
    const auto grid = read<vtkXMLPImageDataReader>(folder / "run/step_000000.pvti");
    ASSERT_EQ(grid->GetNumberOfPoints(), 7);
    for (int i = 0; i < 7; ++i)
        EXPECT_EQ(grid->GetPointData()->GetArray("value")->GetComponent(i, 0), i);
}

TEST(VtkSeries, TheSeriesIsCompleteAfterEveryStep) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    for (int step = 0; step < 3; ++step) {
        Cloud left(5 + step, 0), right(7, 100);
        ASSERT_EQ(text_of(left.write(ranks.at(0), 0.1 * step, ranks.piece(0))), success);
        ASSERT_EQ(text_of(right.write(ranks.at(1), 0.1 * step, ranks.piece(1))), success);
        ASSERT_EQ(text_of(ranks.publish()), success);
        const auto steps = read_pvd(folder / "run.pvd");  // as if the run were killed here
        ASSERT_EQ(steps.size(), static_cast<size_t>(step) + 1);
        for (int k = 0; k <= step; ++k) {
            const PvdStep& found = steps[static_cast<size_t>(k)];
            EXPECT_EQ(found.time_s, 0.1 * k);  // to the last bit
            const auto grid = read<vtkXMLPUnstructuredGridReader>(folder / found.file);
            EXPECT_EQ(grid->GetNumberOfPoints(), 12 + k);
        }
        EXPECT_FALSE(std::filesystem::exists(folder / "run.pvd.tmp"));
    }
}

TEST(VtkSeries, AStepThatOneRankCouldNotWriteIsNotPublishedAndTheNextIs) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    Cloud left(5, 0), right(7, 100);
    ASSERT_EQ(text_of(left.write(ranks.at(0), 0, ranks.piece(0))), success);
    ASSERT_EQ(text_of(right.write(ranks.at(1), 0, ranks.piece(1))), success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    const std::string before = bytes_of(folder / "run.pvd");

    // A folder where the piece should go: cannot be created by anybody, not even by root.
    std::filesystem::create_directory(folder / "run/step_000001_0001.vtu");
    ASSERT_EQ(text_of(left.write(ranks.at(0), 1, ranks.piece(0))), success);
    testing::internal::CaptureStderr();
    EXPECT_EQ(right.write(ranks.at(1), 1, ranks.piece(1)), SURROGATE_IO);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_NE(std::string(surrogate_vtk_error()).find("step_000001_0001.vtu"), std::string::npos);
    EXPECT_EQ(ranks.pieces[1].status, SURROGATE_IO);
    EXPECT_EQ(ranks.publish(), SURROGATE_IO);
    EXPECT_NE(std::string(surrogate_vtk_error()).find("rank 1"), std::string::npos);
    EXPECT_EQ(bytes_of(folder / "run.pvd"), before);

    ASSERT_EQ(text_of(left.write(ranks.at(0), 2, ranks.piece(0))), success);
    ASSERT_EQ(text_of(right.write(ranks.at(1), 2, ranks.piece(1))), success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    const auto steps = read_pvd(folder / "run.pvd");
    ASSERT_EQ(steps.size(), 2u);
    EXPECT_EQ(steps[1].time_s, 2.0);
    EXPECT_EQ(steps[1].file, "run/step_000002.pvtu");
}

TEST(VtkSeries, AFullDiskIsAnError) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 1);
    std::filesystem::create_symlink("/dev/full", folder / "run/step_000000.vtu");
    Cloud cloud(2000, 0);
    testing::internal::CaptureStderr();
    EXPECT_EQ(cloud.write(ranks.at(0), 0, ranks.piece(0)), SURROGATE_IO);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(ranks.publish(), SURROGATE_IO);
    EXPECT_FALSE(std::filesystem::exists(folder / "run.pvd"));
}

TEST(VtkSeries, CompressionAndUnitInTheName) {
    const Folder folder;
    std::vector<size_t> sizes;
    for (const char* compress : {"none", "lz4", "zlib"}) {
        Ranks ranks(folder / (std::string(compress) + ".pvd"), 1);
        ASSERT_EQ(text_of(surrogate_series_set(ranks.at(0), "compress", compress)), success);
        ASSERT_EQ(text_of(surrogate_series_set(ranks.at(0), "unit_in_name", "true")), success);
        Cloud cloud(3000, 0);
        std::fill(cloud.temperature.begin(), cloud.temperature.end(), 1.f);
        ASSERT_EQ(text_of(cloud.write(ranks.at(0), 0, ranks.piece(0))), success);
        const std::string file = folder / (std::string(compress) + "/step_000000.vtu");
        sizes.push_back(bytes_of(file).size());
        const auto grid = read<vtkXMLUnstructuredGridReader>(file);
        vtkDataArray* temperature = grid->GetPointData()->GetArray("temperature [K]");
        ASSERT_NE(temperature, nullptr) << compress;
        EXPECT_EQ(temperature->GetComponent(2999, 0), 1.0);
        EXPECT_NE(bytes_of(file).find("header_type=\"UInt64\""), std::string::npos);
    }
    EXPECT_LT(sizes[1], sizes[0]);
    EXPECT_LT(sizes[2], sizes[1]);
}

TEST(VtkSeries, ANewSeriesReplacesTheOldOneOfItsName) {
    const Folder folder;
    for (int run = 0; run < 2; ++run) {
        Ranks ranks(folder / "run.pvd", 1);
        EXPECT_FALSE(std::filesystem::exists(folder / "run.pvd"));
        Cloud cloud(3, 0);
        ASSERT_EQ(text_of(cloud.write(ranks.at(0), run, ranks.piece(0))), success);
        ASSERT_EQ(text_of(ranks.publish()), success);
    }
    EXPECT_EQ(read_pvd(folder / "run.pvd").size(), 1u);
}

// ---- what is refused, and with which words ----

struct Refusal {
    surrogate_status status;
    const char* word;
};

void expect_refusal(surrogate_status status, const Refusal& wanted) {
    EXPECT_EQ(status, wanted.status) << surrogate_vtk_error();
    EXPECT_NE(std::string(surrogate_vtk_error()).find(wanted.word), std::string::npos)
        << surrogate_vtk_error();
}

TEST(VtkSeries, CreateRefusesWhatCannotBe) {
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
    expect_refusal(surrogate_series_create((folder / "no/a.pvd").c_str(), 0, 1, &series),
                   {SURROGATE_IO, "No such file or directory"});
    EXPECT_EQ(series, nullptr);
    surrogate_series_close(&series);
    surrogate_series_close(nullptr);
}

TEST(VtkSeries, SetRefusesUnknownKeysAndValues) {
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

TEST(VtkSeries, WriteRefusesFieldsThatDoNotFit) {
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
}

TEST(VtkSeries, WriteRefusesNullsAndTimes) {
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
                   {SURROGATE_INVALID_ARGUMENT, "time must grow"});
}

TEST(VtkSeries, WriteRefusesCellsThatNamePointsNotThere) {
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

TEST(VtkSeries, WriteRefusesExtentsThatDoNotFit) {
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

TEST(VtkSeries, PublishRefusesPiecesThatDoNotBelongTogether) {
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

TEST(VtkSeries, PublishRefusesBlocksWithAGap) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    Block left(block_image(0, 2, 0, 4)), right(block_image(3, 5, 0, 4));
    ASSERT_EQ(text_of(left.write(ranks.at(0), 0, ranks.piece(0))), success);
    ASSERT_EQ(text_of(right.write(ranks.at(1), 0, ranks.piece(1))), success);
    expect_refusal(ranks.publish(), {SURROGATE_SHAPE, "16 cells, the whole grid has 20"});
}

}  // namespace
}  // namespace surrogate::test
