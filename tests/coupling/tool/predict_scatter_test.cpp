// SPDX-License-Identifier: Apache-2.0
// A mesh that no rank can read in parts is read by one of them: the others get the same share as if
// they had read it themselves.
#include <gtest/gtest.h>
#include <surrogate/surrogate_vtk.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "coupling/job/process_memory.hpp"
#include "coupling/mesh/read_mesh.hpp"
#include "tests/coupling/tool/predict_job.hpp"
#include "tests/coupling/tool/predict_meshes.hpp"

namespace surrogate::test {
namespace {

using vtk::MeshFile;

/// Bytes that this process has read from files so far; -1 where the system does not tell.
int64_t bytes_read() {
    std::ifstream file("/proc/self/io");
    std::string word;
    int64_t n = -1;
    while (file >> word)
        if (word == "rchar:") file >> n;
    return n;
}

/// A cloud of n points in no order, with two fields, uncompressed.
void write_cloud(int64_t n, const std::string& path) {
    const vtkNew<vtkUnstructuredGrid> grid;
    const vtkNew<vtkPoints> points;
    points->SetDataTypeToDouble();
    const auto a = named<vtkDoubleArray>("mobility");
    for (int64_t i = 0; i < n; ++i) {
        const double x = double(i * 7919 % n) / double(n), y = double(i) / double(n);
        points->InsertNextPoint(x, y, 0);
        a->InsertNextValue(mobility(x, y));
    }
    grid->SetPoints(points);
    grid->Allocate(1);
    grid->GetPointData()->AddArray(a);
    const vtkNew<vtkXMLUnstructuredGridWriter> writer;
    writer->SetInputData(grid);
    vtk::write_file(writer, path, vtk::Compression::none);
}

/// NaN is NaN.
bool same_numbers(const std::vector<double>& found, const std::vector<double>& wanted) {
    return std::ranges::equal(found, wanted, [](double a, double b) {
        return a == b || (std::isnan(a) && std::isnan(b));
    });
}

void expect_same(const MeshFile& found, const MeshFile& wanted, const std::string& name) {
    EXPECT_EQ(found.kind(), wanted.kind()) << name;
    EXPECT_EQ(found.has_float_coordinates(), wanted.has_float_coordinates()) << name;
    for (const int location : {SURROGATE_POINT, SURROGATE_CELL}) {
        EXPECT_EQ(found.file_rows(location), wanted.file_rows(location)) << name;
        EXPECT_EQ(found.positions(location), wanted.positions(location)) << name;
        EXPECT_EQ(found.global_ids(location), wanted.global_ids(location)) << name;
        EXPECT_EQ(found.is_ghost(location), wanted.is_ghost(location)) << name;
        const auto arrays = found.arrays(location), given = wanted.arrays(location);
        ASSERT_EQ(arrays.size(), given.size()) << name;
        for (size_t i = 0; i < arrays.size(); ++i) {
            EXPECT_EQ(arrays[i].name, given[i].name) << name;
            EXPECT_EQ(arrays[i].type, given[i].type) << name;
            EXPECT_EQ(arrays[i].unit, given[i].unit) << name;
            EXPECT_EQ(arrays[i].n_components, given[i].n_components) << name;
            for (int c = 0; c < arrays[i].n_components; ++c)
                EXPECT_TRUE(same_numbers(found.values(location, arrays[i].name, c),
                                         wanted.values(location, arrays[i].name, c)))
                    << name << " " << arrays[i].name;
        }
    }
}

TEST(PredictScatter, GivesTheSharesThatEachRankWouldCut) {
    auto& job = MeshFolder::job();
    int n_file = 0;
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(MeshFolder::in("")))
        names.push_back(entry.path().string());
    std::sort(names.begin(), names.end());
    job.barrier();
    for (const std::string& name : names) {
        if (!name.ends_with(".vtu") && !name.ends_with(".vtp")) continue;
        try {
            (void)MeshFile(name, 0, 1);
        } catch (const std::exception&) {
            continue;  // damaged on purpose by another test
        }
        expect_same(tool::read_mesh(job, name, -1), MeshFile(name, job.rank(), job.size()), name);
        ++n_file;
    }
    EXPECT_GT(n_file, 3);
    job.barrier();
}

TEST(PredictScatter, OnlyOneRankReadsTheFile) {
    auto& job = MeshFolder::job();
    const std::string path = MeshFolder::in("") + "/../scatter_cloud.vtu";
    if (job.is_root()) write_cloud(50000, path);
    job.barrier();
    const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
    const int64_t before = bytes_read();
    if (job.sum(int64_t{before < 0}) > 0) GTEST_SKIP() << "the system does not count bytes read";
    const MeshFile mesh = tool::read_mesh(job, path, -1);
    const int64_t n_byte = bytes_read() - before;
    EXPECT_EQ(job.sum(mesh.n_rows(SURROGATE_POINT)), 50000);
    if (job.is_root())
        EXPECT_GE(n_byte, size);
    else
        EXPECT_LT(n_byte, size / 10) << "this rank has read the file too";
    EXPECT_GT(tool::peak_memory(), size / job.size());
    job.barrier();
    if (job.is_root()) std::filesystem::remove(path);
}

}  // namespace
}  // namespace surrogate::test
