// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/read_mesh.hpp"

#include <cstring>
#include <optional>

#include "coupling/mesh/part_bytes.hpp"

namespace surrogate::tool {

namespace {

using vtk::MeshFile;

MeshFile scatter(const Job& job, const std::string& path) {
    std::optional<MeshFile> whole;
    std::optional<vtk::Cut> cut;
    job.agree([&] {
        if (!job.is_root()) return;
        whole.emplace(path, 0, 1);
        cut.emplace(whole->cut(job.size()));
    });
    std::optional<MeshFile> mesh;
    const std::string bytes = job.scatter([&](int rank) { return packed(cut->part(rank)); });
    job.agree([&] { mesh.emplace(path, job.is_root() ? cut->part(0) : vtk::unpacked(bytes)); });
    return std::move(*mesh);
}

}  // namespace

MeshFile read_mesh(const Job& job, const std::string& path, int axis) {
    bool can_share = false;
    job.agree([&] {
        if (job.is_root()) can_share = MeshFile::can_share(path, job.size());
    });
    if (job.broadcast(can_share ? "1" : "0") == "0") return scatter(job, path);
    std::optional<MeshFile> mesh;
    job.agree([&] { mesh.emplace(path, job.rank(), job.size(), axis); });
    return std::move(*mesh);
}

std::vector<int64_t> rows_in_file(const Job& job, const vtk::MeshFile& mesh, int location) {
    const std::vector<int64_t> mine = {mesh.n_rows(location)};
    std::vector<std::vector<std::byte>> counts(static_cast<size_t>(job.size()));
    for (auto& bytes : counts) {
        bytes.resize(sizeof(int64_t));
        std::memcpy(bytes.data(), mine.data(), sizeof(int64_t));
    }
    const auto received = job.exchange(counts);
    int64_t before = 0;
    for (int rank = 0; rank < job.rank(); ++rank) {
        int64_t n = 0;
        std::memcpy(&n, received[static_cast<size_t>(rank)].data(), sizeof n);
        before += n;
    }
    std::vector<int64_t> rows = mesh.file_rows(location);
    if (mesh.rows_are_relative())
        for (int64_t& row : rows) row += before;
    return rows;
}

}  // namespace surrogate::tool
