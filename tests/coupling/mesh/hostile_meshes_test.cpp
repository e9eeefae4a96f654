// SPDX-License-Identifier: Apache-2.0
// Checks malformed mesh files as an attacker would write them: the reader rejects them on some rank
// of 1, 2 and 3, with BAD_FILE and a text that names the error. Also built with sanitizers.
#include "tests/coupling/mesh/hostile_meshes.hpp"

#include <gtest/gtest.h>
#include <surrogate/surrogate_vtk.h>
#include <sys/stat.h>

#include <set>

#include "coupling/mesh/mesh_file.hpp"
#include "coupling/vtk/error.hpp"
#include "tests/coupling/vtk/read.hpp"

namespace surrogate::test {
namespace {

using vtk::MeshFile;

/// Everything that `surrogate predict` asks of a mesh.
void use(const MeshFile& mesh) {
    for (const int location : {SURROGATE_POINT, SURROGATE_CELL}) {
        mesh.positions(location);
        mesh.is_ghost(location);
        mesh.is_hidden(location);
        mesh.global_ids(location);
        for (const auto& array : mesh.arrays(location)) mesh.values(location, array.name, 0);
    }
}

/// Returns the error texts of all ranks.
std::vector<std::string> refusals(const std::string& path, int size) {
    std::vector<std::string> texts;
    for (int rank = 0; rank < size; ++rank) try {
            use(MeshFile(path, rank, size));
        } catch (const vtk::Error& error) {
            EXPECT_TRUE(error.status() == SURROGATE_BAD_FILE) << error.what();
            texts.emplace_back(error.what());
        }
    return texts;
}

class HostileMeshes : public testing::TestWithParam<HostileMesh> {};

TEST_P(HostileMeshes, AreRefusedOnAnyNumberOfRanks) {
    const Folder folder;
    const std::string path = GetParam().write(folder / "");
    for (const int size : {1, 2, 3}) {
        const auto texts = refusals(path, size);
        EXPECT_FALSE(texts.empty()) << "accepted on " << size << " ranks";
        for (const std::string& text : texts)
            for (const std::string& part : GetParam().says)
                EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
    }
}

INSTANTIATE_TEST_SUITE_P(All, HostileMeshes, testing::ValuesIn(all_hostile_meshes()),
                         [](const auto& mesh) { return mesh.param.name; });

TEST(HostileMesh, NamesAreDifferent) {
    std::set<std::string> names;
    for (const auto& mesh : all_hostile_meshes()) names.insert(mesh.name);
    EXPECT_EQ(names.size(), all_hostile_meshes().size());
    EXPECT_GE(names.size(), 60u);
}

// The meshes of the cases above are valid without their fault.
TEST(HostileMesh, WithoutItsFaultIsRead) {
    const std::string pieces = R"(<Piece Source="m.vtu"/><Piece Source="m.vtu"/>)";
    const std::string extent = R"(WholeExtent="0 1 0 1 0 0")";
    const std::string image_piece = R"(<Piece Extent="0 1 0 1 0 0" Source="m.vti"/>)";
    const HostileMesh all{
        "All",
        {{"m.vtu", VtuText().text()},
         {"m.vtp", VtpText().text()},
         {"m.vti", VtiText().text()},
         {"m.vts", VtsText().text()},
         {"m.pvtu", summary_text("UnstructuredGrid", "", pieces)},
         {"m.pvti",
          summary_text("ImageData", extent + R"( Origin="0 0 0" Spacing="1 1 1")", image_piece)}},
        {}};
    const Folder folder;
    all.write(folder / "");
    for (const auto& [file, bytes] : all.files)
        for (const int size : {1, 2, 3})
            EXPECT_EQ(refusals(folder / file, size), std::vector<std::string>()) << file;
}

TEST(HostileMesh, APolyhedronIsRead) {
    VtuText mesh;
    mesh.n_cells = "1";
    mesh.connectivity = "0 1 2 3";
    mesh.offsets = "4";
    mesh.types = "42";
    mesh.cell_mobility = "";
    mesh.points = "0 0 0 1 0 0 0 1 0 0 0 1";
    mesh.more_cells =
        R"(<DataArray type="Int64" Name="faces">4 3 0 1 2 3 0 1 3 3 0 2 3 3 1 2 3</DataArray>)"
        R"(<DataArray type="Int64" Name="faceoffsets">17</DataArray>)";
    const Folder folder;
    const HostileMesh file{"Sound", {{"mesh.vtu", mesh.text()}}, {}};
    const std::string path = file.write(folder / "");
    for (const int size : {1, 2, 3}) EXPECT_EQ(refusals(path, size), std::vector<std::string>());
    EXPECT_EQ(MeshFile(path, 0, 1).n_rows(SURROGATE_CELL), 1);
}

// Legal in a file, and fine at points; VTK would read corners that are not there.
TEST(HostileMesh, CellsOfTooFewPointsHaveNoCenter) {
    const auto vtu = [](const char* type, const char* first_end) {
        VtuText mesh;
        mesh.types = std::string(type) + " 5";
        mesh.offsets = std::string(first_end) + " " + std::to_string(std::atoi(first_end) + 3);
        return std::pair<std::string, std::string>("mesh.vtu", mesh.text());
    };
    VtpText line, strip;
    line.lines = "0";
    line.line_offsets = "1";
    strip.strips = "0 1";
    strip.strip_offsets = "0";
    for (const auto& file : {vtu("4", "1"),
                             vtu("6", "2"),
                             vtu("7", "2"),
                             vtu("36", "3"),
                             vtu("0", "3"),
                             {"mesh.vtp", line.text()},
                             {"mesh.vtp", strip.text()}}) {
        const Folder folder;
        const MeshFile mesh(HostileMesh{"", {file}, {}}.write(folder / ""), 0, 1);
        EXPECT_EQ(mesh.positions(SURROGATE_POINT).size(), 12u);
        try {
            mesh.positions(SURROGATE_CELL);
            ADD_FAILURE() << file.second;
        } catch (const vtk::Error& error) {
            EXPECT_EQ(error.status(), SURROGATE_NOT_SUPPORTED);
            EXPECT_NE(std::string(error.what()).find("hence no center"), std::string::npos);
        }
    }
}

// Reading a pipe would block until another process writes.
TEST(HostileMesh, APipeAFolderAndAMissingFileAreRefusedWithoutReading) {
    const Folder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe.vtu").c_str(), 0600), 0);
    ASSERT_EQ(::mkdir((folder / "folder.vtu").c_str(), 0700), 0);
    for (const char* file : {"pipe.vtu", "folder.vtu", "none.vtu"}) try {
            MeshFile(folder / file, 0, 1);
            ADD_FAILURE() << file;
        } catch (const vtk::Error& error) {
            EXPECT_EQ(error.status(), SURROGATE_IO);
            EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
        }
}

}  // namespace
}  // namespace surrogate::test
