// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/mesh_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "coupling/mesh/read_mesh.hpp"
#include "coupling/vtk/disk.hpp"

namespace surrogate::tool {

namespace {

using vtk::MeshFile;

/// Writes one file: rank 0 gathers the values and has the whole mesh in memory.
void write_one(const Job& job, const std::string& in, const std::string& out, MeshFile& mesh,
               int location, const std::vector<MeshArray>& arrays, vtk::Compression compression) {
    if (job.size() == 1) {
        job.agree([&] {
            for (const MeshArray& array : arrays) mesh.add(location, array.info, array.values);
            mesh.write(out, compression);
        });
        return;
    }
    const auto rows = job.gather(rows_in_file(job, mesh, location));
    std::vector<std::vector<double>> gathered;
    for (const MeshArray& array : arrays) gathered.push_back(job.gather(array.values));
    job.agree([&] {
        if (!job.is_root()) return;
        MeshFile whole(in, 0, 1);
        for (size_t i = 0; i < gathered.size(); ++i) {
            std::vector<double> all(static_cast<size_t>(whole.n_rows(location)), std::nan(""));
            for (size_t k = 0; k < rows.size(); ++k)
                all.at(static_cast<size_t>(rows[k])) = gathered[i][k];
            whole.add(location, arrays[i].info, all);
        }
        whole.write(out, compression);
    });
}

/// Returns the extents of all pieces on rank `first`, in the order of ranks; empty for a rank
/// without a piece.
std::vector<std::vector<std::byte>> gather_extents(const Job& job, const MeshFile& mesh,
                                                   bool has_piece, int64_t first) {
    std::vector<std::vector<std::byte>> to_rank(static_cast<size_t>(job.size()));
    if (has_piece) {
        const vtk::PieceInfo piece = mesh.piece("");
        auto& bytes = to_rank[static_cast<size_t>(first)];
        bytes.resize(sizeof piece.extent);
        std::memcpy(bytes.data(), piece.extent.data(), bytes.size());
    }
    return job.exchange(to_rank);
}

/// Writes one piece per rank with points. The first of these ranks writes the summary, because it
/// has the list of arrays.
void write_pieces(const Job& job, const Target& target, MeshFile& mesh, int location,
                  const std::vector<MeshArray>& arrays, vtk::Compression compression) {
    const bool has_piece = mesh.n_rows(SURROGATE_POINT) > 0;
    job.agree([&] {
        vtk::make_directory(target.folder());
        if (!has_piece) return;
        for (const MeshArray& array : arrays) mesh.add(location, array.info, array.values);
        mesh.write(vtk::directory_of(target.out) + target.piece(job.rank()), compression);
    });
    const int64_t first = -job.max(has_piece ? -int64_t{job.rank()} : -int64_t{job.size()});
    const auto extents = gather_extents(job, mesh, has_piece, first);
    job.agree([&] {
        if (job.rank() != first) return;
        vtk::SummaryInfo summary = mesh.summary();
        for (int rank = 0; rank < job.size(); ++rank) {
            const auto& bytes = extents[static_cast<size_t>(rank)];
            if (bytes.empty()) continue;
            vtk::PieceInfo piece{target.piece(rank), {}};
            std::memcpy(piece.extent.data(), bytes.data(), bytes.size());
            summary.pieces.push_back(piece);
        }
        write_output(target.out, vtk::summary_text(summary));
    });
}

/// Deletes the new pieces, which no summary names. No file had these names before.
void take_back(const Job& job, const Target& target) {
    std::remove((vtk::directory_of(target.out) + target.piece(job.rank())).c_str());
    job.barrier();
    if (job.is_root() && !target.has_folder) std::remove(target.folder().c_str());
}

}  // namespace

MeshArray real_array(const std::string& name, bool is_float, const std::string& unit,
                     std::vector<double> values) {
    MeshArray array;
    array.info.name = name;
    array.info.type = is_float ? "Float32" : "Float64";
    array.info.unit = unit;
    array.values = std::move(values);
    return array;
}

void write_mesh(const Job& job, const std::string& in, const Target& target, MeshFile& mesh,
                int location, const std::vector<MeshArray>& arrays, vtk::Compression compression) {
    if (!target.is_in_pieces)
        return write_one(job, in, target.out, mesh, location, arrays, compression);
    try {
        write_pieces(job, target, mesh, location, arrays, compression);
    } catch (const Failure&) {
        take_back(job, target);
        throw;
    }
    for (const std::string& file : target.replaced) std::remove(file.c_str());
}

}  // namespace surrogate::tool
