// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace million {

namespace {

constexpr int64_t n_pixel = 400;  // per side: the smallest size of a figure
constexpr double nothing = -std::numeric_limits<double>::infinity();

/// A square of pixels for each of n layers, row by row from below; pixels that no rank has drawn
/// are empty.
class Canvas {
public:
    explicit Canvas(std::size_t n_layer)
        : n_layer_(n_layer), pixel_(n_layer * std::size_t(n_pixel * n_pixel), nothing) {}

    /// Draws a triangle whose corners have values [3 * n_layer]: sets the pixels whose middle is in
    /// it.
    void draw(const Position (&at)[3], const std::vector<double>& values) {
        constexpr double scale = double(n_pixel) / Plate::side;
        const auto [x0, x1] = std::minmax({at[0].x, at[1].x, at[2].x});
        const auto [y0, y1] = std::minmax({at[0].y, at[1].y, at[2].y});
        const auto first = [](double x) {
            return std::max<int64_t>(0, std::llround(std::ceil(x * scale - 0.5)));
        };
        for (int64_t j = first(y0); j < n_pixel && double(j) + 0.5 <= y1 * scale; ++j)
            for (int64_t i = first(x0); i < n_pixel && double(i) + 0.5 <= x1 * scale; ++i)
                fill(i, j, at, values);
    }

    PetscErrorCode reduce_to_first(MPI_Comm comm, PetscMPIInt rank) {
        PetscFunctionBegin;
        PetscCallMPI(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : pixel_.data(), pixel_.data(),
                                int(pixel_.size()), MPI_DOUBLE, MPI_MAX, 0, comm));
        std::replace(pixel_.begin(), pixel_.end(), nothing,
                     std::numeric_limits<double>::quiet_NaN());
        PetscFunctionReturn(0);
    }
    const double* layer(std::size_t number) const {
        return &pixel_[number * std::size_t(n_pixel * n_pixel)];
    }

private:
    void fill(int64_t i, int64_t j, const Position (&at)[3], const std::vector<double>& values) {
        const double x = (double(i) + 0.5) * Plate::side / double(n_pixel);
        const double y = (double(j) + 0.5) * Plate::side / double(n_pixel);
        const auto twice_area = [](const Position& a, const Position& b, const Position& c) {
            return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        };
        const double whole = twice_area(at[0], at[1], at[2]);
        double share[3];
        for (int c = 0; c < 3; ++c) {
            share[c] = twice_area({x, y}, at[(c + 1) % 3], at[(c + 2) % 3]) / whole;
            if (share[c] < -1e-9) return;
        }
        for (std::size_t l = 0; l < n_layer_; ++l) {
            double value = 0;
            for (std::size_t c = 0; c < 3; ++c) value += share[c] * values[3 * l + c];
            pixel_[l * std::size_t(n_pixel * n_pixel) + std::size_t(j * n_pixel + i)] = value;
        }
    }

    std::size_t n_layer_;
    std::vector<double> pixel_;
};

void draw_cells(const Mesh& mesh, const std::vector<std::vector<PetscScalar>>& fields, double part,
                Canvas* canvas) {
    std::vector<double> values(3 * fields.size() + 3, part);  // the last layer: the owner
    for (int64_t cell = 0; cell < mesh.n_cell(); ++cell) {
        Position at[3];
        for (std::size_t c = 0; c < 3; ++c) {
            const auto p = std::size_t(mesh.corners()[std::size_t(3 * cell) + c]);
            at[c] = mesh.coordinates()[p];
            for (std::size_t f = 0; f < fields.size(); ++f) values[3 * f + c] = fields[f][p];
        }
        canvas->draw(at, values);
    }
}

surrogate_png_label label_of(const char* title, const char* quantity, const char* unit) {
    surrogate_png_label label = surrogate::label(title, quantity, unit);
    label.frame = SURROGATE_FRAME_AXES;
    label.x = {"x", "m", 0, Plate::side};
    label.y = {"y", "m", 0, Plate::side};
    label.nan = SURROGATE_NAN_OUTLINED;
    return label;
}

void write(const std::string& path, const std::string& heading, const Canvas& canvas,
           const std::vector<NamedField>& fields, double hottest, int n_rank) {
    std::vector<surrogate_png_panel> panels;
    std::vector<surrogate_png_label> labels;
    const auto pixels = [&](std::size_t layer) {
        return surrogate::grid_values(canvas.layer(layer), n_pixel, n_pixel);
    };
    for (std::size_t f = 0; f < fields.size(); ++f) {
        const NamedField& field = fields[f];
        panels.push_back(field.is_difference
                             ? surrogate::panel(pixels(f), -hottest / 10, hottest / 10,
                                                SURROGATE_COLOR_DIVERGING)
                             : surrogate::panel(pixels(f), 0, hottest));
        labels.push_back(
            label_of(field.title, field.is_difference ? "difference" : "temperature", "K"));
    }
    if (n_rank > 1) {
        panels.push_back(surrogate::panel(pixels(fields.size()), 0, n_rank - 1));
        labels.push_back(label_of("triangles of each rank", "rank", ""));
    }
    surrogate::write_png(path, heading, panels, labels);
}

}  // namespace

PetscErrorCode write_picture(const std::string& path, const std::string& heading, const Mesh& mesh,
                             const std::vector<NamedField>& fields, double hottest) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0, size = 1;
    PetscCallMPI(MPI_Comm_rank(mesh.comm(), &rank));
    PetscCallMPI(MPI_Comm_size(mesh.comm(), &size));
    std::vector<std::vector<PetscScalar>> values(fields.size());
    for (std::size_t f = 0; f < fields.size(); ++f)
        PetscCall(mesh.local_values(fields[f].field, &values[f]));
    Canvas canvas(fields.size() + 1);
    draw_cells(mesh, values, rank, &canvas);
    PetscCall(canvas.reduce_to_first(mesh.comm(), rank));
    if (rank == 0) write(path, heading, canvas, fields, hottest, size);
    PetscFunctionReturn(0);
}

}  // namespace million
