// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/mesh_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "coupling/vtk/disk.hpp"

namespace surrogate::tool {

namespace {

using vtk::MeshFile;

/// Adds `before` (rows on lower ranks) where a rank holds whole pieces.
std::vector<int64_t> absolute_rows(const Job& job, const MeshFile& mesh, int location) {
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

vtk::ArrayInfo array_info(const FieldPlan& plan, size_t i) {
    return {plan.outputs[i].second, plan.is_float ? "Float32" : "Float64", 1,
            plan.outputs[i].first.unit, false};
}

/// One file: rank 0 gathers the values and holds the whole mesh.
void write_one(const Job& job, const std::string& in, const std::string& out, MeshFile& mesh,
               const FieldPlan& plan, const std::vector<std::vector<double>>& outputs) {
    if (job.size() == 1) {
        job.agree([&] {
            for (size_t i = 0; i < outputs.size(); ++i)
                mesh.add(plan.location, array_info(plan, i), outputs[i]);
            mesh.write(out);
        });
        return;
    }
    const auto rows = job.gather(absolute_rows(job, mesh, plan.location));
    std::vector<std::vector<double>> gathered;
    for (const auto& values : outputs) gathered.push_back(job.gather(values));
    job.agree([&] {
        if (!job.is_root()) return;
        MeshFile whole(in, 0, 1);
        for (size_t i = 0; i < gathered.size(); ++i) {
            std::vector<double> all(static_cast<size_t>(whole.n_rows(plan.location)), std::nan(""));
            for (size_t k = 0; k < rows.size(); ++k)
                all.at(static_cast<size_t>(rows[k])) = gathered[i][k];
            whole.add(plan.location, array_info(plan, i), all);
        }
        whole.write(out);
    });
}

/// "out/out_0003.vtu" of out.pvtu and rank 3
std::string piece_file(const std::string& out, int rank, const std::string& extension) {
    char text[32];
    std::snprintf(text, sizeof text, "_%04d.", rank);
    const std::string stem = vtk::stem_of(out);
    return stem + "/" + stem + text + extension;
}

/// One piece a rank that has points, and the summary by the first of them, which knows the arrays.
void write_pieces(const Job& job, const std::string& out, MeshFile& mesh, const FieldPlan& plan,
                  const std::vector<std::vector<double>>& outputs) {
    const std::string folder = vtk::directory_of(out);
    const std::string extension = vtk::extension_of(mesh.kind());
    const bool has_piece = mesh.n_rows(SURROGATE_POINT) > 0;
    job.agree([&] {
        vtk::make_directory(folder + vtk::stem_of(out));
        if (!has_piece) return;
        for (size_t i = 0; i < outputs.size(); ++i)
            mesh.add(plan.location, array_info(plan, i), outputs[i]);
        mesh.write(folder + piece_file(out, job.rank(), extension));
    });
    const int64_t first = -job.max(has_piece ? -int64_t{job.rank()} : -int64_t{job.size()});
    std::vector<std::vector<std::byte>> to_rank(static_cast<size_t>(job.size()));
    if (has_piece) {
        const vtk::PieceInfo piece = mesh.piece("");
        auto& bytes = to_rank[static_cast<size_t>(first)];
        bytes.resize(sizeof piece.extent);
        std::memcpy(bytes.data(), piece.extent.data(), bytes.size());
    }
    const auto extents = job.exchange(to_rank);
    job.agree([&] {
        if (job.rank() != first) return;
        vtk::SummaryInfo summary = mesh.summary();
        for (int rank = 0; rank < job.size(); ++rank) {
            const auto& bytes = extents[static_cast<size_t>(rank)];
            if (bytes.empty()) continue;
            vtk::PieceInfo piece{piece_file(out, rank, extension), {}};
            std::memcpy(piece.extent.data(), bytes.data(), bytes.size());
            summary.pieces.push_back(piece);
        }
        vtk::write_atomically(out, vtk::summary_text(summary));
    });
}

}  // namespace

void write_mesh(const Job& job, const std::string& in, const std::string& out, MeshFile& mesh,
                const FieldPlan& plan, const std::vector<std::vector<double>>& outputs) {
    if (vtk::parse_mesh_name(out).is_parallel)
        write_pieces(job, out, mesh, plan, outputs);
    else
        write_one(job, in, out, mesh, plan, outputs);
}

}  // namespace surrogate::tool
