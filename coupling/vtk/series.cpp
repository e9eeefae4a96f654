// SPDX-License-Identifier: Apache-2.0
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLImageDataWriter.h>
#include <vtkXMLUnstructuredGridWriter.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "coupling/vtk/arrays.hpp"
#include "coupling/vtk/disk.hpp"
#include "coupling/vtk/error.hpp"
#include "coupling/vtk/grid.hpp"
#include "coupling/vtk/summary.hpp"

using namespace surrogate::vtk;

struct surrogate_series {
    std::string path;    // out/run.pvd
    std::string folder;  // out/run
    std::string name;    // run
    int32_t rank = 0, size = 1;
    Compression compression = Compression::lz4;
    bool unit_in_name = false;
    int32_t n_written = 0;          // writes so far, good or bad
    double time_s = 0;              // of the last write
    SummaryInfo summary;            // of the last write, without pieces
    std::vector<SeriesStep> steps;  // published; rank 0 only
};

namespace {

/// FNV-1a, 64 bits: a fingerprint to compare, not to protect.
uint64_t fingerprint(uint64_t hash, const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

uint64_t layout_of(const SummaryInfo& summary) {
    uint64_t hash = 14695981039346656037u;
    for (const auto* arrays : {&summary.point_arrays, &summary.cell_arrays}) {
        for (const ArrayInfo& array : *arrays)
            hash = fingerprint(hash, array.name + '\n' + array.type + '\n' +
                                         std::to_string(array.n_components) + '\n');
        hash = fingerprint(hash, "\t");
    }
    return hash;
}

/// "step_000012_0003.vti", or without the rank if rank < 0.
std::string step_file(int32_t step, int32_t rank, const std::string& extension) {
    char text[64];
    if (rank < 0)
        std::snprintf(text, sizeof text, "step_%06d.", step);
    else
        std::snprintf(text, sizeof text, "step_%06d_%04d.", step, rank);
    return text + extension;
}

/// The file of a rank's piece: on one rank it is the step itself.
std::string piece_file(const surrogate_series& series, int32_t step, int32_t rank) {
    return step_file(step, series.size == 1 ? -1 : rank, extension_of(series.summary.kind));
}

void check_time(const surrogate_series& series, double time_s) {
    if (!std::isfinite(time_s))
        throw Error(SURROGATE_INVALID_ARGUMENT, "time_s is not a finite number");
    if (!series.steps.empty() && !(time_s > series.steps.back().time_s))
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "time_s is " + std::to_string(time_s) + ", the last published step has " +
                        std::to_string(series.steps.back().time_s) + "; time must grow");
}

template <class Writer>
void write_grid(const surrogate_series& series, vtkDataSet* grid, int32_t step) {
    vtkNew<Writer> writer;
    writer->SetInputData(grid);
    write_file(writer, series.folder + '/' + piece_file(series, step, series.rank),
               series.compression);
}

/// What both writes share: fields onto the grid, what the summary will say, the file, the record of
/// it.
template <class Writer>
void write_piece(surrogate_series& series, vtkDataSet* grid, int32_t n_fields,
                 const surrogate_series_field* fields, surrogate_piece& piece) {
    add_fields(grid, n_fields, fields, series.unit_in_name);
    series.summary.point_arrays = arrays_of(grid, SURROGATE_POINT);
    series.summary.cell_arrays = arrays_of(grid, SURROGATE_CELL);
    piece.layout = layout_of(series.summary);
    const int64_t n_points = grid->GetNumberOfPoints();
    if (n_points == 0) return;
    write_grid<Writer>(series, grid, piece.step);
    piece.n_points = n_points;
    piece.n_cells = grid->GetNumberOfCells();
}

void write_mesh(surrogate_series& series, const surrogate_mesh& mesh, int32_t n_fields,
                const surrogate_series_field* fields, surrogate_piece& piece) {
    series.summary = {};
    write_piece<vtkXMLUnstructuredGridWriter>(series, make_grid(mesh), n_fields, fields, piece);
}

void write_image(surrogate_series& series, const surrogate_image& image, int32_t n_fields,
                 const surrogate_series_field* fields, surrogate_piece& piece) {
    series.summary = {};
    series.summary.kind = GridKind::image;
    std::copy(image.whole_extent, image.whole_extent + 6, series.summary.whole_extent.begin());
    std::copy(image.origin, image.origin + 3, series.summary.origin.begin());
    std::copy(image.spacing, image.spacing + 3, series.summary.spacing.begin());
    std::copy(image.extent, image.extent + 6, piece.extent);
    std::copy(image.whole_extent, image.whole_extent + 6, piece.whole_extent);
    const auto grid = make_grid(image);
    if (has_cells(image))
        return write_piece<vtkXMLImageDataWriter>(series, grid, n_fields, fields, piece);
    // No piece: the neighbours hold its points. The fields still tell the layout, without rows.
    std::vector<surrogate_series_field> empty;
    if (n_fields > 0 && fields != nullptr) empty.assign(fields, fields + n_fields);
    for (auto& field : empty) field.array.shape[0] = 0;
    const vtkNew<vtkImageData> nothing;
    write_piece<vtkXMLImageDataWriter>(series, nothing, n_fields, empty.data(), piece);
}

/// Counts the step, runs the write, and leaves its status in the piece.
template <class Mesh>
surrogate_status write_step(surrogate_series* series, double time_s, const Mesh* mesh, int32_t kind,
                            surrogate_piece* piece,
                            void (*write)(surrogate_series&, const Mesh&, int32_t,
                                          const surrogate_series_field*, surrogate_piece&),
                            int32_t n_fields, const surrogate_series_field* fields) {
    if (piece != nullptr) std::memset(piece, 0, sizeof *piece);
    const surrogate_status status = guarded([&] {
        require(piece, "piece");
        require(series, "series");
        piece->step = series->n_written++;
        piece->kind = kind;
        require(mesh, kind == 0 ? "mesh" : "image");
        check_time(*series, time_s);
        series->time_s = time_s;
        write(*series, *mesh, n_fields, fields, *piece);
    });
    if (piece != nullptr) {
        piece->status = status;
        if (status != SURROGATE_SUCCESS) piece->n_points = piece->n_cells = 0;
    }
    return status;
}

/// The pieces must be of the last step, of one kind, and have the same fields as rank 0.
void check_piece(const surrogate_series& series, const surrogate_piece& piece,
                 const surrogate_piece& first, int32_t rank) {
    const std::string who = "the piece of rank " + std::to_string(rank);
    if (piece.status != SURROGATE_SUCCESS)
        throw Error(piece.status, who + " was not written (status " + std::to_string(piece.status) +
                                      "); that rank's surrogate_vtk_error() says why");
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

void check_tiling(const surrogate_piece* pieces, int32_t n_pieces) {
    int64_t n_cells = 0;
    for (int32_t rank = 0; rank < n_pieces; ++rank) {
        if (!std::equal(pieces[rank].whole_extent, pieces[rank].whole_extent + 6,
                        pieces[0].whole_extent))
            throw Error(SURROGATE_SHAPE,
                        "rank " + std::to_string(rank) + " has another whole extent than rank 0");
        n_cells += pieces[rank].n_cells;
    }
    if (n_cells != n_cells_of(pieces[0].whole_extent))
        throw Error(SURROGATE_SHAPE, "the blocks have " + std::to_string(n_cells) +
                                         " cells, the whole grid has " +
                                         std::to_string(n_cells_of(pieces[0].whole_extent)) +
                                         "; blocks share their border points, see surrogate_image");
}

/// The file that the .pvd names for this step, in the series' folder.
std::string write_summary(surrogate_series& series, const surrogate_piece* pieces) {
    const int32_t step = series.n_written - 1;
    if (series.size == 1) return piece_file(series, step, 0);
    SummaryInfo summary = series.summary;
    for (int32_t rank = 0; rank < series.size; ++rank) {
        if (pieces[rank].n_points == 0) continue;
        PieceInfo piece{piece_file(series, step, rank), {}};
        std::copy(pieces[rank].extent, pieces[rank].extent + 6, piece.extent.begin());
        summary.pieces.push_back(piece);
    }
    const std::string file =
        step_file(step, -1, std::string("p").append(extension_of(summary.kind)));
    write_atomically(series.folder + '/' + file, summary_text(summary));
    return file;
}

void publish(surrogate_series& series, int32_t n_pieces, const surrogate_piece* pieces) {
    if (series.rank != 0)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "only rank 0 publishes, this is rank " + std::to_string(series.rank));
    if (n_pieces != series.size)
        throw Error(SURROGATE_INVALID_ARGUMENT, "n_pieces is " + std::to_string(n_pieces) +
                                                    ", the series has " +
                                                    std::to_string(series.size) + " ranks");
    if (series.n_written == 0) throw Error(SURROGATE_INVALID_ARGUMENT, "no step was written yet");
    for (int32_t rank = 0; rank < n_pieces; ++rank)
        check_piece(series, pieces[rank], pieces[0], rank);
    if (!series.steps.empty() && !(series.time_s > series.steps.back().time_s))
        throw Error(SURROGATE_INVALID_ARGUMENT, "this step was published already");
    if (std::all_of(pieces, pieces + n_pieces, [](const auto& p) { return p.n_points == 0; }))
        throw Error(SURROGATE_SHAPE, "no rank has points in this step");
    if (series.summary.kind == GridKind::image) check_tiling(pieces, n_pieces);
    std::vector<SeriesStep> steps = series.steps;
    steps.push_back({series.time_s, series.name + '/' + write_summary(series, pieces)});
    write_atomically(series.path, pvd_text(steps));
    series.steps = std::move(steps);
}

void create(const char* path, int32_t rank, int32_t size, surrogate_series& series) {
    series.path = path;
    if (extension_of(series.path) != ".pvd")
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "a series is called something.pvd, '" + series.path + "' is not");
    if (size < 1 || rank < 0 || rank >= size)
        throw Error(SURROGATE_INVALID_ARGUMENT, "rank " + std::to_string(rank) + " of " +
                                                    std::to_string(size) + " does not exist");
    series.name = stem_of(series.path);
    series.folder = directory_of(series.path) + series.name;
    series.rank = rank;
    series.size = size;
    make_directory(series.folder);
    if (rank == 0 && std::remove(path) != 0 && errno != ENOENT)
        throw Error(SURROGATE_IO,
                    "cannot remove the old '" + series.path + "': " + std::strerror(errno));
}

void set(surrogate_series& series, const std::string& key, const std::string& value) {
    if (series.n_written > 0)
        throw Error(SURROGATE_INVALID_ARGUMENT, "options are set before the first write");
    const std::string wrong = "option " + key + " cannot be '" + value + "'; ";
    if (key == "compress") {
        if (value == "none")
            series.compression = Compression::none;
        else if (value == "lz4")
            series.compression = Compression::lz4;
        else if (value == "zlib")
            series.compression = Compression::zlib;
        else
            throw Error(SURROGATE_INVALID_ARGUMENT, wrong + "it is lz4, none or zlib");
    } else if (key == "unit_in_name") {
        if (value != "true" && value != "false")
            throw Error(SURROGATE_INVALID_ARGUMENT, wrong + "it is true or false");
        series.unit_in_name = value == "true";
    } else {
        throw Error(SURROGATE_UNKNOWN_NAME,
                    "a series has no option '" + key + "'; it has compress and unit_in_name");
    }
}

}  // namespace

extern "C" {

surrogate_status surrogate_series_create(const char* path, int32_t rank, int32_t size,
                                         surrogate_series** series) {
    return guarded([&] {
        require(series, "series");
        *series = nullptr;
        require(path, "path");
        auto result = std::make_unique<surrogate_series>();
        create(path, rank, size, *result);
        *series = result.release();
    });
}

surrogate_status surrogate_series_set(surrogate_series* series, const char* key,
                                      const char* value) {
    return guarded([&] {
        require(series, "series");
        require(key, "key");
        require(value, "value");
        set(*series, key, value);
    });
}

surrogate_status surrogate_series_write_mesh(surrogate_series* series, double time_s,
                                             const surrogate_mesh* mesh, int32_t n_fields,
                                             const surrogate_series_field* fields,
                                             surrogate_piece* piece) {
    return write_step(series, time_s, mesh, 0, piece, write_mesh, n_fields, fields);
}

surrogate_status surrogate_series_write_image(surrogate_series* series, double time_s,
                                              const surrogate_image* image, int32_t n_fields,
                                              const surrogate_series_field* fields,
                                              surrogate_piece* piece) {
    return write_step(series, time_s, image, 1, piece, write_image, n_fields, fields);
}

surrogate_status surrogate_series_publish(surrogate_series* series, int32_t n_pieces,
                                          const surrogate_piece* pieces) {
    return guarded([&] {
        require(series, "series");
        require(pieces, "pieces");
        publish(*series, n_pieces, pieces);
    });
}

void surrogate_series_close(surrogate_series** series) {
    if (series == nullptr) return;
    delete *series;
    *series = nullptr;
}

}  // extern "C"
