// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_VTK_HPP
#define SURROGATE_VTK_HPP

// The C interface of surrogate_vtk.h as owners, functions and exceptions; header-only, C++17.
// Shapes, files and errors are documented there. A call that fails throws surrogate::Error, with
// the text that surrogate_error(nullptr) gives.
//
//     surrogate::Series series("out/run.pvd");                          one rank
//     series.write_step(time_s, surrogate::cloud(x),
//                       {surrogate::point_field("pressure", pressure, "Pa")});
//
//     surrogate::Series series("out/run.pvd", rank, size);              many: the ranks meet
//                                                                       between
//     const surrogate_piece mine = series.write(time_s, mesh, fields);  writing and publishing
//     MPI_Gather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, 0, comm);
//     if (rank == 0) series.publish(all);

#include <surrogate/surrogate_vtk.h>

#include <cstdint>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate {

/// Describes a field at points for a series. Name, unit and memory belong to the caller.
inline surrogate_series_field point_field(const char* name, const surrogate_array& array,
                                          const char* unit = nullptr) {
    return {name, unit, SURROGATE_POINT, array};
}
/// Describes a field at cells for a series. Name, unit and memory belong to the caller.
inline surrogate_series_field cell_field(const char* name, const surrogate_array& array,
                                         const char* unit = nullptr) {
    return {name, unit, SURROGATE_CELL, array};
}

/// Describes points x [n, 1..3] without cells.
inline surrogate_mesh cloud(const surrogate_array& x) {
    surrogate_mesh mesh{};
    mesh.points = x;
    return mesh;
}

/// Describes points and cells from lists that the caller keeps; offsets has one number more than
/// types.
inline surrogate_mesh cells(const surrogate_array& x, const std::vector<int64_t>& offsets,
                            const std::vector<int64_t>& connectivity,
                            const std::vector<uint8_t>& types) {
    if (offsets.size() != types.size() + 1)
        check(surrogate_context_fail(
            nullptr, SURROGATE_SHAPE,
            ("cells: " + std::to_string(types.size()) + " types need one offset more, found " +
             std::to_string(offsets.size()))
                .c_str()));
    return {x, static_cast<int64_t>(types.size()), offsets.data(), connectivity.data(),
            types.data()};
}

/// A time series that ParaView opens; see surrogate_series_create.
class Series {
public:
    /// Creates a series at `path`, on every rank; see surrogate_series_create.
    explicit Series(const std::string& path, int32_t rank = 0, int32_t size = 1) : size_(size) {
        surrogate_series* handle = nullptr;
        check(surrogate_series_create(path.c_str(), rank, size, &handle));
        handle_.reset(handle);
    }
    /// Sets an option before the first write; see surrogate_series_set.
    void set(const std::string& key, const std::string& value) {
        check(surrogate_series_set(get(), key.c_str(), value.c_str()));
    }

    /// Writes this rank's piece of one step of a surrogate_mesh, surrogate_image or
    /// surrogate_sphere_surface. Does not throw if the write fails, because the caller then gathers
    /// the pieces of all ranks: the piece has the status, and publish throws. On the rank that
    /// failed check(piece.status) throws its own error, if it is the next call.
    template <class Mesh>
    surrogate_piece write(double time_s, const Mesh& mesh,
                          const std::vector<surrogate_series_field>& fields) {
        surrogate_piece piece{};
        (void)write_piece(time_s, mesh, fields, &piece);  // its status is the piece's
        return piece;
    }
    /// Adds a step to the series, on rank 0; pieces: of all ranks, in their order. See
    /// surrogate_series_publish.
    void publish(const std::vector<surrogate_piece>& pieces) {
        check(surrogate_series_publish(get(), static_cast<int32_t>(pieces.size()), pieces.data()));
    }
    /// Writes and publishes a step of a series of one rank.
    template <class Mesh>
    void write_step(double time_s, const Mesh& mesh,
                    const std::vector<surrogate_series_field>& fields) {
        if (size_ != 1)
            check(surrogate_context_fail(nullptr, SURROGATE_INVALID_ARGUMENT,
                                         "write_step is for a series of one rank: write, gather "
                                         "the pieces on rank 0, and publish them there"));
        const surrogate_piece piece = write(time_s, mesh, fields);
        check(piece.status);
        publish({piece});
    }
    /// Returns the handle of the C interface, borrowed.
    surrogate_series* get() const { return handle_.get(); }

private:
    using Fields = std::vector<surrogate_series_field>;
    surrogate_status write_piece(double time_s, const surrogate_mesh& mesh, const Fields& fields,
                                 surrogate_piece* piece) {
        return surrogate_series_write_mesh(get(), time_s, &mesh, n_of(fields), fields.data(),
                                           piece);
    }
    surrogate_status write_piece(double time_s, const surrogate_image& image, const Fields& fields,
                                 surrogate_piece* piece) {
        return surrogate_series_write_image(get(), time_s, &image, n_of(fields), fields.data(),
                                            piece);
    }
    surrogate_status write_piece(double time_s, const surrogate_sphere_surface& surface,
                                 const Fields& fields, surrogate_piece* piece) {
        return surrogate_series_write_sphere(get(), time_s, &surface, n_of(fields), fields.data(),
                                             piece);
    }
    static int32_t n_of(const Fields& fields) { return static_cast<int32_t>(fields.size()); }

    int32_t size_;
    detail::Owner<surrogate_series, surrogate_series_close> handle_;
};

/// Describes one field of an image: values [n_x, n_y], element (i, j) at column i from the left and
/// row j from the bottom. min = max = 0: the smallest and largest finite value.
inline surrogate_png_panel panel(const surrogate_array& values, double min = 0, double max = 0,
                                 int32_t color_map = SURROGATE_COLOR_SEQUENTIAL) {
    return {values, min, max, color_map};
}

/// Describes the n_x * n_y numbers of a grid in its natural order, x fastest, for a panel.
template <class T>
surrogate_array grid_values(T* data, int64_t n_x, int64_t n_y) {
    surrogate_array array = column(data, 0);
    array.shape[0] = n_x;
    array.shape[1] = n_y;
    array.stride[0] = 1;
    array.stride[1] = n_x;
    return array;
}

/// Writes an image of panels side by side; see surrogate_png_write.
inline void write_png(const std::string& path, const std::vector<surrogate_png_panel>& panels) {
    check(surrogate_png_write(path.c_str(), static_cast<int32_t>(panels.size()), panels.data()));
}

/// Describes the text of a panel; the texts belong to the caller. See surrogate_png_label.
inline surrogate_png_label label(const char* title, const char* quantity = nullptr,
                                 const char* unit = nullptr) {
    surrogate_png_label label{};
    label.title = title;
    label.quantity = quantity;
    label.unit = unit;
    return label;
}

/// Writes an image of labeled panels side by side under a heading, which may be empty. labels: one
/// per panel. See surrogate_png_write_labeled.
inline void write_png(const std::string& path, const std::string& heading,
                      const std::vector<surrogate_png_panel>& panels,
                      const std::vector<surrogate_png_label>& labels) {
    if (labels.size() != panels.size())
        check(surrogate_context_fail(
            nullptr, SURROGATE_SHAPE,
            ("write_png: " + std::to_string(panels.size()) + " panels need as many labels, found " +
             std::to_string(labels.size()))
                .c_str()));
    check(surrogate_png_write_labeled(path.c_str(), heading.c_str(),
                                      static_cast<int32_t>(panels.size()), panels.data(),
                                      labels.data()));
}

}  // namespace surrogate

#endif
