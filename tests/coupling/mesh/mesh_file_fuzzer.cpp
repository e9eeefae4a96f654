// SPDX-License-Identifier: Apache-2.0
// fuzz_mesh_file <count> <seed>: damages small mesh files of all kinds in `count` variants and
// reads each as `surrogate predict` does, on 1, 2 or 3 ranks. Every input must be
//   rejected with vtk::Error and a text that names the file, or
//   read with every corner of every cell among the points and every row of a part in the mesh,
// within some seconds. The system and the sanitizers detect crashes and undefined behavior; the
// input that is being read is in the folder fuzz_mesh_file.<seed>.
#include <surrogate/surrogate_vtk.h>
#include <vtkCellArray.h>
#include <vtkIdList.h>
#include <vtkNew.h>
#include <vtkPolyData.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLReader.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "coupling/mesh/mesh_file.hpp"
#include "coupling/mesh/mesh_reader.hpp"
#include "coupling/vtk/error.hpp"
#include "tests/coupling/mesh/mesh_mutator.hpp"

namespace surrogate::test {
namespace {

constexpr double most_seconds = 10;  // a hang; the slowest is printed

struct Tally {
    int64_t n_refused = 0, n_read = 0;
    double slowest_s = 0;
};

std::string ids_problem(std::initializer_list<vtkCellArray*> lists, vtkIdType n_points) {
    vtkNew<vtkIdList> ids;
    for (vtkCellArray* cells : lists)
        for (vtkIdType i = 0; cells != nullptr && i < cells->GetNumberOfCells(); ++i) {
            cells->GetCellAtId(i, ids);
            for (vtkIdType k = 0; k < ids->GetNumberOfIds(); ++k)
                if (ids->GetId(k) < 0 || ids->GetId(k) >= n_points)
                    return "cell " + std::to_string(i) + " names point " +
                           std::to_string(ids->GetId(k)) + " of " + std::to_string(n_points);
        }
    return "";
}

std::string ids_problem(vtkDataSet* mesh) {
    if (auto* grid = vtkUnstructuredGrid::SafeDownCast(mesh))
        return ids_problem({grid->GetCells()}, mesh->GetNumberOfPoints());
    auto* surface = vtkPolyData::SafeDownCast(mesh);
    return ids_problem(
        {surface->GetVerts(), surface->GetLines(), surface->GetPolys(), surface->GetStrips()},
        mesh->GetNumberOfPoints());
}

/// Computes the numbers of the mesh by another loop than the reader's.
std::string ids_problem(const std::string& path) {
    const vtk::MeshName name = vtk::parse_mesh_name(path);
    if (vtk::has_extents(name.kind)) return "";
    const auto reader = vtk::open_mesh(path, name);
    vtk::reading(path, [&] { reader->Update(); });
    return ids_problem(vtkDataSet::SafeDownCast(reader->GetOutputDataObject(0)));
}

std::string rows_problem(const vtk::MeshFile& part, const vtk::MeshFile& whole, int location) {
    for (const int64_t row : part.file_rows(location))
        if (row < 0 || (!part.rows_are_relative() && row >= whole.n_rows(location)))
            return "row " + std::to_string(row) + " of " + std::to_string(whole.n_rows(location));
    if (static_cast<int64_t>(part.positions(location).size()) != 3 * part.n_rows(location))
        return "positions of other rows";
    for (const auto& array : part.arrays(location))
        for (int c = 0; c < array.n_components; ++c) part.values(location, array.name, c);
    part.global_ids(location);
    part.is_ghost(location);
    part.is_hidden(location);
    return "";
}

/// "" or what must not happen.
std::string outcome(const std::string& path, int size, Tally& tally) {
    try {
        const vtk::MeshFile whole(path, 0, 1);
        std::string problem = ids_problem(path);
        for (int rank = 0; rank < size && problem.empty(); ++rank) {
            const vtk::MeshFile part(path, rank, size);
            problem = rows_problem(part, whole, SURROGATE_POINT);
            if (problem.empty()) problem = rows_problem(part, whole, SURROGATE_CELL);
        }
        ++tally.n_read;
        return problem;
    } catch (const vtk::Error& error) {
        ++tally.n_refused;
        const std::string text = error.what();
        const bool is_status = error.status() == SURROGATE_BAD_FILE ||
                               error.status() == SURROGATE_IO ||
                               error.status() == SURROGATE_NOT_SUPPORTED;
        if (!is_status) return "wrong status: " + text;
        const bool is_named =
            text.find(std::filesystem::path(path).parent_path().filename()) != std::string::npos;
        // A cell without a center is found where the name of the file is not known.
        if (!is_named && error.status() != SURROGATE_NOT_SUPPORTED) return "no name: " + text;
    } catch (const std::exception& error) {
        return std::string("not an Error: ") + error.what();
    }
    return "";
}

std::string write(const MeshFiles& mesh, const std::string& folder) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    for (const auto& [file, bytes] : mesh.files)
        std::ofstream(folder + "/" + file, std::ios::binary) << bytes;
    return folder + "/" + mesh.files.front().first;
}

/// Checks that a file is valid before it is damaged: returns "" or what was not read.
std::string sound_problem(const std::string& folder) {
    for (const MeshFiles& mesh : sound_meshes()) {
        Tally tally;
        const std::string path = write(mesh, folder);
        for (int size = 1; size <= 3; ++size) {
            const std::string problem = outcome(path, size, tally);
            if (!problem.empty()) return mesh.name + ": " + problem;
        }
        if (tally.n_read == 3) continue;
        try {
            vtk::MeshFile(path, 0, 1).positions(SURROGATE_CELL);
        } catch (const std::exception& error) {
            return mesh.name + ": " + error.what();
        }
    }
    return "";
}

int run(int64_t count, uint64_t seed) {
    MeshMutator mutator(sound_meshes(), seed);
    const std::string folder = "fuzz_mesh_file." + std::to_string(seed);
    if (const std::string problem = sound_problem(folder); !problem.empty()) {
        std::printf("a valid mesh is rejected: %s\n", problem.c_str());
        return 1;
    }
    Tally tally;
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < count; ++i) {
        const MeshFiles mesh = mutator.next();
        const std::string path = write(mesh, folder);
        const auto start = std::chrono::steady_clock::now();
        std::string problem = outcome(path, static_cast<int>(1 + i % 3), tally);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        tally.slowest_s = std::max(tally.slowest_s, seconds.count());
        if (problem.empty() && seconds.count() > most_seconds) problem = "too slow";
        if (problem.empty()) continue;
        std::printf("input %lld of seed %llu (%s): %s\n", static_cast<long long>(i),
                    static_cast<unsigned long long>(seed), mesh.name.c_str(), problem.c_str());
        return 1;
    }
    std::filesystem::remove_all(folder);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("%lld inputs of seed %llu in %.1f s: %lld rejected, %lld read; slowest %.3f s\n",
                static_cast<long long>(count), static_cast<unsigned long long>(seed),
                seconds.count(), static_cast<long long>(tally.n_refused),
                static_cast<long long>(tally.n_read), tally.slowest_s);
    // A mutator that never leaves a file readable, or always, would test nothing.
    const bool is_mixed = 20 * tally.n_read > count && 20 * tally.n_refused > count;
    if (count >= 1000 && !is_mixed)
        std::printf("the mutator does not mix damaged and harmless files\n");
    return count >= 1000 && !is_mixed ? 1 : 0;
}

}  // namespace
}  // namespace surrogate::test

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: fuzz_mesh_file <count> <seed>\n");
        return 2;
    }
    return surrogate::test::run(std::atoll(argv[1]), std::strtoull(argv[2], nullptr, 10));
}
