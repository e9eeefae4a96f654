// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/series.hpp"

#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkStructuredGrid.h>
#include <vtkUnstructuredGrid.h>
#include <vtkXMLImageDataWriter.h>
#include <vtkXMLStructuredGridWriter.h>
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
#include "coupling/vtk/error.hpp"
#include "coupling/vtk/grid.hpp"
#include "coupling/vtk/poles.hpp"
#include "coupling/vtk/surface.hpp"

namespace surrogate::vtk {

std::string step_file(int32_t step, int32_t rank, const std::string& extension) {
    char text[64];
    if (rank < 0)
        std::snprintf(text, sizeof text, "step_%06d.", step);
    else
        std::snprintf(text, sizeof text, "step_%06d_%04d.", step, rank);
    return text + extension;
}

std::string summary_file(int32_t step, GridKind kind) {
    return step_file(step, -1, std::string("p").append(extension_of(kind)));
}

std::string piece_file(const surrogate_series& series, int32_t step, int32_t rank) {
    return step_file(step, series.size == 1 ? -1 : rank, extension_of(series.summary.kind));
}

}  // namespace surrogate::vtk

using namespace surrogate::vtk;

namespace {

/// FNV-1a, 64 bits: a fingerprint for comparison, without cryptographic strength.
uint64_t fingerprint(uint64_t hash, const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

/// Checks a name. The series names its steps in XML, whose readers change or reject control
/// characters.
void check_name(const std::string& name) {
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    std::string shown = name;
    std::replace_if(shown.begin(), shown.end(), is_control, '?');
    if (shown != name)
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "the name of the series, '" + shown +
                        "', has a control character (shown as ?); choose another name");
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

void check_time(const surrogate_series& series, double time_s) {
    if (!std::isfinite(time_s))
        throw Error(SURROGATE_INVALID_ARGUMENT, "time_s is not a finite number");
    if (!series.steps.empty() && !(time_s > series.steps.back().time_s))
        throw Error(SURROGATE_INVALID_ARGUMENT, "time_s is " + std::to_string(time_s) +
                                                    ", expected more than " +
                                                    std::to_string(series.steps.back().time_s) +
                                                    ", the time of the last published step");
}

template <class Writer>
void write_grid(const surrogate_series& series, vtkDataSet* grid, int32_t step) {
    // The summary of an earlier run's step must not name pieces of two runs.
    if (series.size > 1)
        std::remove((series.folder + '/' + summary_file(step, series.summary.kind)).c_str());
    vtkNew<Writer> writer;
    writer->SetInputData(grid);
    write_file(writer, series.folder + '/' + piece_file(series, step, series.rank),
               series.compression);
}

/// Common part of all writes: metadata of the summary, the file, and its record.
template <class Writer>
void write_piece(surrogate_series& series, vtkDataSet* grid, surrogate_piece& piece) {
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
    const auto grid = make_grid(mesh);
    add_fields(grid, n_fields, fields, series.unit_in_name);
    write_piece<vtkXMLUnstructuredGridWriter>(series, grid, piece);
}

/// Records a rank without a piece, whose points belong to the pieces of its neighbors. The fields
/// still define the layout, without rows.
template <class Grid, class Writer>
void write_nothing(surrogate_series& series, int32_t n_fields, const surrogate_series_field* fields,
                   surrogate_piece& piece) {
    std::vector<surrogate_series_field> empty;
    if (n_fields > 0 && fields != nullptr) empty.assign(fields, fields + n_fields);
    for (auto& field : empty) field.array.shape[0] = 0;
    const vtkNew<Grid> nothing;
    add_fields(nothing, n_fields, empty.data(), series.unit_in_name);
    write_piece<Writer>(series, nothing, piece);
}

/// Sets a new summary and record of a grid with extents.
void set_extents(surrogate_series& series, GridKind kind, const int32_t* whole, const int32_t* own,
                 surrogate_piece& piece) {
    series.summary = {};
    series.summary.kind = kind;
    std::copy(whole, whole + 6, series.summary.whole_extent.begin());
    std::copy(whole, whole + 6, piece.whole_extent);
    std::copy(own, own + 6, piece.extent);
}

void write_image(surrogate_series& series, const surrogate_image& image, int32_t n_fields,
                 const surrogate_series_field* fields, surrogate_piece& piece) {
    set_extents(series, GridKind::image, image.whole_extent, image.extent, piece);
    std::copy(image.origin, image.origin + 3, series.summary.origin.begin());
    std::copy(image.spacing, image.spacing + 3, series.summary.spacing.begin());
    const auto grid = make_grid(image);
    if (!has_cells(image))
        return write_nothing<vtkImageData, vtkXMLImageDataWriter>(series, n_fields, fields, piece);
    add_fields(grid, n_fields, fields, series.unit_in_name);
    write_piece<vtkXMLImageDataWriter>(series, grid, piece);
}

void check_are_point_fields(int32_t n_fields, const surrogate_series_field* fields) {
    for (int32_t i = 0; fields != nullptr && i < n_fields; ++i)
        if (fields[i].location == SURROGATE_CELL)
            throw Error(SURROGATE_INVALID_ARGUMENT,
                        "fields[" + std::to_string(i) +
                            "] is at cells; fields on a sphere are at its points");
}

void write_sphere(surrogate_series& series, const surrogate_sphere_surface& surface,
                  int32_t n_fields, const surrogate_series_field* fields, surrogate_piece& piece) {
    const auto open = make_grid(surface);
    const int32_t whole[6] = {
        0, static_cast<int32_t>(surface.n_lon), 0, static_cast<int32_t>(surface.n_lat) - 1, 0, 0};
    const Caps caps = series.closes_poles ? caps_of(surface) : Caps{};
    int32_t own[6];
    open->GetExtent(own);
    ++own[1];  // the closed seam
    own[2] -= caps.before ? 1 : 0;
    own[3] += caps.after ? 1 : 0;
    set_extents(series, GridKind::structured, whole, own, piece);
    check_are_point_fields(n_fields, fields);
    if (!has_cells(surface, caps.n()))
        return write_nothing<vtkStructuredGrid, vtkXMLStructuredGridWriter>(series, n_fields,
                                                                            fields, piece);
    add_fields(open, n_fields, fields, series.unit_in_name);
    auto closed = with_closed_seam(open, surface.is_lon_lat ? 360 : 0);
    if (caps.n() > 0) closed = with_caps(closed, caps, surface);
    write_piece<vtkXMLStructuredGridWriter>(series, closed, piece);
}

/// Counts the step, runs the write, and stores its status in the piece.
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
        const char* const names[] = {"mesh", "image", "surface"};
        require(mesh, names[kind]);
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

void create(const char* path, int32_t rank, int32_t size, surrogate_series& series) {
    series.path = path;
    if (extension_of(series.path) != ".pvd")
        throw Error(SURROGATE_INVALID_ARGUMENT,
                    "a series is called something.pvd, '" + series.path + "' is not");
    if (size < 1 || rank < 0 || rank >= size)
        throw Error(SURROGATE_INVALID_ARGUMENT, "rank " + std::to_string(rank) + " of " +
                                                    std::to_string(size) + " does not exist");
    series.name = stem_of(series.path);
    check_name(series.name);
    series.folder = directory_of(series.path) + series.name;
    series.rank = rank;
    series.size = size;
    make_directory(series.folder);
    // Runs on every rank, so that no rank writes a piece while an earlier series still names it.
    // The new .pvd is written after all ranks have written their first pieces.
    if (std::remove(path) != 0 && errno != ENOENT)
        throw Error(SURROGATE_IO,
                    "cannot remove the old '" + series.path + "': " + std::strerror(errno));
}

void set(surrogate_series& series, const std::string& key, const std::string& value) {
    if (series.n_written > 0)
        throw Error(SURROGATE_INVALID_ARGUMENT, "options are set before the first write");
    const std::string wrong = "invalid value '" + value + "' for option " + key + ", expected ";
    if (key == "compress") {
        const auto compression = compression_of(value);
        if (!compression) throw Error(SURROGATE_INVALID_ARGUMENT, wrong + "lz4, none or zlib");
        series.compression = *compression;
    } else if (key == "unit_in_name") {
        if (value != "true" && value != "false")
            throw Error(SURROGATE_INVALID_ARGUMENT, wrong + "true or false");
        series.unit_in_name = value == "true";
    } else if (key == "poles") {
        if (value != "closed" && value != "open")
            throw Error(SURROGATE_INVALID_ARGUMENT, wrong + "closed or open");
        series.closes_poles = value == "closed";
    } else {
        throw Error(SURROGATE_UNKNOWN_NAME, "a series has no option '" + key +
                                                "'; it has compress, unit_in_name and poles");
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

surrogate_status surrogate_series_write_sphere(surrogate_series* series, double time_s,
                                               const surrogate_sphere_surface* surface,
                                               int32_t n_fields,
                                               const surrogate_series_field* fields,
                                               surrogate_piece* piece) {
    return write_step(series, time_s, surface, 2, piece, write_sphere, n_fields, fields);
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
