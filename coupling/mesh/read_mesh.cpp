// SPDX-License-Identifier: Apache-2.0
#include "coupling/mesh/read_mesh.hpp"

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

}  // namespace surrogate::tool
