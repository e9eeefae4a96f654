// SPDX-License-Identifier: Apache-2.0
// Series written from plain arrays, read back through VTK's readers and compared.
#include "tests/coupling/vtk/series.hpp"

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

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/coupling/vtk/read.hpp"
#include "tests/support/little_room.hpp"

namespace surrogate::test {
namespace {

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
        EXPECT_FALSE(std::filesystem::exists(folder / "run.pvd.surrogate.tmp"));
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

    EXPECT_FALSE(std::filesystem::exists(folder / "run/step_000001_0000.vtu"))
        << "the piece of a step that never came";

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
    EXPECT_EQ(std::string(surrogate_vtk_error()),
              "cannot write '" + folder / "run/step_000000.vtu" + "': No space left on device");
    EXPECT_EQ(ranks.publish(), SURROGATE_IO);
    EXPECT_FALSE(std::filesystem::exists(folder / "run.pvd"));
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

TEST(VtkSeries, ADiskThatFillsUpKeepsTheStepsBeforeAndNothingOfTheOneThatFailed) {
    const SmallDisk disk;
    if (!disk.is_there()) GTEST_SKIP() << "no small file system can be mounted here";
    Ranks ranks(disk / "run.pvd", 2);
    Cloud small(50, 0), large(4000, 50);
    ASSERT_EQ(text_of(small.write(ranks.at(0), 0, ranks.piece(0))), success);
    ASSERT_EQ(text_of(small.write(ranks.at(1), 0, ranks.piece(1))), success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    const auto before = names_in(disk / "run");

    ASSERT_EQ(text_of(small.write(ranks.at(0), 1, ranks.piece(0))), success);
    EXPECT_EQ(large.write(ranks.at(1), 1, ranks.piece(1)), SURROGATE_IO);
    EXPECT_NE(std::string(surrogate_vtk_error()).find("No space left on device"), std::string::npos)
        << surrogate_vtk_error();
    EXPECT_EQ(ranks.publish(), SURROGATE_IO);
    EXPECT_EQ(names_in(disk / "run"), before);
    EXPECT_EQ(read<vtkXMLPUnstructuredGridReader>(disk / read_pvd(disk / "run.pvd").at(0).file)
                  ->GetNumberOfPoints(),
              100);
}

// VTK looks at its writes, but not at the last one: a small file is one write.
TEST(VtkSeries, APieceThatCannotBeWrittenLeavesTheOneOfThatName) {
    for (const int64_t n_points : {3, 2000}) {
        const Folder folder;
        const std::string file = folder / "run/step_000000.vtu";
        Cloud cloud(n_points, 0);
        {
            Ranks ranks(folder / "run.pvd", 1);
            ASSERT_EQ(text_of(cloud.write(ranks.at(0), 0, ranks.piece(0))), success);
        }
        const std::string before = bytes_of(file);
        ASSERT_FALSE(before.empty());
        Ranks ranks(folder / "run.pvd", 1);
        {
            const LittleRoom room(before.size() / 2);
            EXPECT_EQ(cloud.write(ranks.at(0), 0, ranks.piece(0)), SURROGATE_IO);
        }
        EXPECT_NE(std::string(surrogate_vtk_error()).find("': File too large"), std::string::npos)
            << surrogate_vtk_error();
        EXPECT_EQ(bytes_of(file), before);
        EXPECT_EQ(names_in(folder / "run").size(), 1u);
    }
}

// Ranks are not in step: one may write before rank 0 has begun.
TEST(VtkSeries, NoNameOfAnEarlierSeriesLeadsToPiecesOfTheNewOne) {
    const Folder folder;
    Cloud cloud(5, 0);
    {
        Ranks ranks(folder / "run.pvd", 2);
        for (int rank = 0; rank < 2; ++rank)
            ASSERT_EQ(text_of(cloud.write(ranks.at(rank), 0, ranks.piece(rank))), success);
        ASSERT_EQ(text_of(ranks.publish()), success);
    }
    surrogate_series* second = nullptr;
    surrogate_piece piece;
    ASSERT_EQ(text_of(surrogate_series_create((folder / "run.pvd").c_str(), 1, 2, &second)),
              success);
    EXPECT_FALSE(std::filesystem::exists(folder / "run.pvd"));
    EXPECT_EQ(text_of(cloud.write(second, 0, &piece)), success);
    EXPECT_FALSE(std::filesystem::exists(folder / "run/step_000000.pvtu"));
    surrogate_series_close(&second);
}

TEST(VtkSeries, ALateMistakeTakesNoPublishedStepBack) {
    const Folder folder;
    Ranks ranks(folder / "run.pvd", 2);
    Cloud cloud(5, 0);
    for (int rank = 0; rank < 2; ++rank)
        ASSERT_EQ(text_of(cloud.write(ranks.at(rank), 0, ranks.piece(rank))), success);
    ASSERT_EQ(text_of(ranks.publish()), success);
    const auto before = names_in(folder / "run");
    ranks.piece(1)->status = SURROGATE_IO;  // as if an old record were gathered
    EXPECT_EQ(ranks.publish(), SURROGATE_IO);
    EXPECT_EQ(names_in(folder / "run"), before);
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

}  // namespace
}  // namespace surrogate::test
