// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>

#include "coupling/vtk/error.hpp"
#include "coupling/vtk/series.hpp"

namespace surrogate::vtk {

namespace {

/// Checks that a piece is of the last step, of the same kind, and has the same fields as rank 0.
void check_piece(const surrogate_series& series, const surrogate_piece& piece,
                 const surrogate_piece& first, int32_t rank) {
    const std::string who = "the piece of rank " + std::to_string(rank);
    if (piece.status != SURROGATE_SUCCESS)
        throw Error(piece.status, who + " was not written (" + surrogate_status_name(piece.status) +
                                      "); surrogate_vtk_error() on that rank returns the reason");
    if (piece.step != series.n_written - 1)
        throw Error(SURROGATE_INVALID_ARGUMENT, who + " is of step " + std::to_string(piece.step) +
                                                    ", rank 0 wrote step " +
                                                    std::to_string(series.n_written - 1));
    if (piece.kind != first.kind || piece.layout != first.layout)
        throw Error(SURROGATE_SHAPE,
                    who +
                        " has other fields or another kind of mesh than that of rank 0; all "
                        "ranks give the same fields in the same order and type, also without "
                        "points");
}

int64_t n_cells_of(const int32_t* extent) {
    int64_t n = 1;
    for (int axis = 0; axis < 3; ++axis)
        n *= std::max<int64_t>(1, int64_t{extent[2 * axis + 1]} - extent[2 * axis]);
    return n;
}

/// Returns the extent of the whole grid, including caps that pieces of a sphere have outside it.
std::array<int32_t, 6> whole_of(const surrogate_piece* pieces, int32_t n_pieces) {
    std::array<int32_t, 6> whole;
    std::copy_n(pieces[0].whole_extent, 6, whole.begin());
    if (pieces[0].kind != 2) return whole;
    for (int32_t rank = 0; rank < n_pieces; ++rank) {
        if (pieces[rank].n_points == 0) continue;
        whole[2] = std::min(whole[2], pieces[rank].extent[2]);
        whole[3] = std::max(whole[3], pieces[rank].extent[3]);
    }
    return whole;
}

void check_tiling(const surrogate_piece* pieces, int32_t n_pieces) {
    int64_t n_cells = 0;
    for (int32_t rank = 0; rank < n_pieces; ++rank) {
        if (!std::equal(pieces[rank].whole_extent, pieces[rank].whole_extent + 6,
                        pieces[0].whole_extent))
            throw Error(SURROGATE_SHAPE, "rank " + std::to_string(rank) +
                                             " has a whole extent that differs from rank 0");
        n_cells += pieces[rank].n_cells;
    }
    const int64_t n_whole = n_cells_of(whole_of(pieces, n_pieces).data());
    if (n_cells != n_whole)
        throw Error(SURROGATE_SHAPE,
                    "the blocks have " + std::to_string(n_cells) + " cells, the whole grid has " +
                        std::to_string(n_whole) +
                        "; blocks share their border points, see surrogate_image and "
                        "surrogate_sphere_surface");
}

/// Writes the summary, which the .pvd names for this step, to the series' folder.
std::string write_summary(surrogate_series& series, const surrogate_piece* pieces) {
    const int32_t step = series.n_written - 1;
    if (series.size == 1) return piece_file(series, step, 0);
    SummaryInfo summary = series.summary;
    if (summary.kind == GridKind::structured) {
        const auto whole = whole_of(pieces, series.size);
        std::copy(whole.begin(), whole.end(), summary.whole_extent.begin());
    }
    for (int32_t rank = 0; rank < series.size; ++rank) {
        if (pieces[rank].n_points == 0) continue;
        PieceInfo piece{piece_file(series, step, rank), {}};
        std::copy(pieces[rank].extent, pieces[rank].extent + 6, piece.extent.begin());
        summary.pieces.push_back(piece);
    }
    const std::string file = summary_file(step, summary.kind);
    write_atomically(series.folder + '/' + file, summary_text(summary));
    return file;
}

/// Deletes the pieces of a step that a rank could not write, which therefore stays incomplete. (A
/// step that publish itself could not write is kept, so that publish can be tried again.)
void take_back(const surrogate_series& series, const surrogate_piece* pieces) {
    constexpr GridKind kinds[] = {GridKind::mesh, GridKind::image, GridKind::structured};
    const int32_t step = series.n_written - 1;
    const auto has_failed = [](const auto& piece) { return piece.status != SURROGATE_SUCCESS; };
    if (step == series.last_published || std::none_of(pieces, pieces + series.size, has_failed))
        return;
    for (int32_t rank = 0; rank < series.size; ++rank) {
        const surrogate_piece& piece = pieces[rank];
        if (piece.step != step || piece.n_points == 0 || piece.kind < 0 || piece.kind > 2) continue;
        const std::string extension = extension_of(kinds[piece.kind]);
        const std::string file = step_file(step, series.size == 1 ? -1 : rank, extension);
        std::remove((series.folder + '/' + file).c_str());
    }
}

/// Adds the step to the series, after all pieces were written.
void add_step(surrogate_series& series, const surrogate_piece* pieces) {
    std::vector<SeriesStep> steps = series.steps;
    steps.push_back({series.time_s, series.name + '/' + write_summary(series, pieces)});
    write_atomically(series.path, pvd_text(steps));
    series.steps = std::move(steps);
    series.last_published = series.n_written - 1;
}

}  // namespace

void publish(surrogate_series& series, int32_t n_pieces, const surrogate_piece* pieces) {
    if (series.rank != 0)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "only rank 0 publishes, this is rank " + std::to_string(series.rank));
    if (n_pieces != series.size)
        throw Error(SURROGATE_INVALID_ARGUMENT, "n_pieces is " + std::to_string(n_pieces) +
                                                    ", the series has " +
                                                    std::to_string(series.size) + " ranks");
    if (series.n_written == 0)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "no step was written; call a write function of the series before publish");
    take_back(series, pieces);
    for (int32_t rank = 0; rank < n_pieces; ++rank)
        check_piece(series, pieces[rank], pieces[0], rank);
    if (!series.steps.empty() && !(series.time_s > series.steps.back().time_s))
        throw Error(SURROGATE_INVALID_ARGUMENT, "this step was published already");
    if (std::all_of(pieces, pieces + n_pieces, [](const auto& p) { return p.n_points == 0; }))
        throw Error(SURROGATE_SHAPE, "no rank has points in this step");
    if (has_extents(series.summary.kind)) check_tiling(pieces, n_pieces);
    add_step(series, pieces);
}

}  // namespace surrogate::vtk
