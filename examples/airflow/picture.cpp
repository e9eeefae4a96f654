// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace airflow {

namespace {

constexpr int64_t height = 400;  // pixels: the smallest size of a figure

/// Content of a pixel: its distance to the eye, and the fields there.
struct Pixel {
    double near;
    double value[max_fields];
};

void keep_nearest(void* in, void* in_out, int* n, MPI_Datatype*) {
    const auto* other = static_cast<const Pixel*>(in);
    auto* mine = static_cast<Pixel*>(in_out);
    // Distances are equal only at borders between ranks: then the larger value is taken, so that
    // the order of ranks does not matter.
    for (int i = 0; i < *n; ++i)
        if (other[i].near > mine[i].near ||
            (other[i].near == mine[i].near && other[i].value[0] > mine[i].value[0]))
            mine[i] = other[i];
}

/// Projects a point: right, up, and towards the eye.
Vector3 seen(const Vector3& place) {
    static const Vector3 eye = unit({-0.55, -0.75, 0.38}), right = unit(cross({0, 0, 1}, eye));
    return {dot(place, right), dot(place, cross(eye, right)), dot(place, eye)};
}

/// The part of the plane that contains the body, on all ranks.
struct Frame {
    double low[2] = {1e300, 1e300}, high[2] = {-1e300, -1e300};

    PetscErrorCode fit(const Surface& surface) {
        PetscFunctionBegin;
        for (const Vector3& place : surface.coordinates()) {
            const Vector3 s = seen(place);
            low[0] = std::min(low[0], s.x), low[1] = std::min(low[1], s.y);
            high[0] = std::max(high[0], s.x), high[1] = std::max(high[1], s.y);
        }
        PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, low, 2, MPI_DOUBLE, MPI_MIN, surface.comm()));
        PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, high, 2, MPI_DOUBLE, MPI_MAX, surface.comm()));
        PetscFunctionReturn(0);
    }
    double scale() const { return 0.94 * double(height) / (high[1] - low[1]); }
    int64_t width() const { return std::llround(scale() * (high[0] - low[0]) / 0.94); }
    /// Returns pixels from the left and from below.
    Vector3 place(const Vector3& s) const {
        const double margin = 0.03 * double(height);
        return {margin + scale() * (s.x - low[0]), margin + scale() * (s.y - low[1]), s.z};
    }
};

class Canvas {
public:
    explicit Canvas(int64_t width) : width_(width), pixel_(std::size_t(width * height)) {
        constexpr double none = std::numeric_limits<double>::quiet_NaN();
        for (Pixel& p : pixel_) p = {-1e300, {none, none, none}};
    }

    /// Draws a triangle with linear fields: corners (pixels, nearness) and their pixels' values.
    void draw(const Vector3 (&at)[3], const Pixel (&corner)[3]) {
        const double area = cross(at[1] - at[0], at[2] - at[0]).z;
        if (area <= 0) return;  // seen from behind, or edge-on
        const auto [x0, x1] = std::minmax({at[0].x, at[1].x, at[2].x});
        const auto [y0, y1] = std::minmax({at[0].y, at[1].y, at[2].y});
        for (auto j = std::max<int64_t>(0, std::llround(std::floor(y0)));
             j <= std::min(height - 1.0, y1); ++j)
            for (auto i = std::max<int64_t>(0, std::llround(std::floor(x0)));
                 i <= std::min(double(width_ - 1), x1); ++i)
                fill(i, j, at, corner, area);
    }

    std::vector<Pixel>& pixels() { return pixel_; }

private:
    void fill(int64_t i, int64_t j, const Vector3 (&at)[3], const Pixel (&corner)[3], double area) {
        const Vector3 x{double(i) + 0.5, double(j) + 0.5, 0};
        double share[3], near = 0;
        for (int c = 0; c < 3; ++c) {
            share[c] = cross(at[(c + 1) % 3] - x, at[(c + 2) % 3] - x).z / area;
            if (share[c] < -1e-9) return;
            near += share[c] * at[c].z;
        }
        Pixel& pixel = pixel_[std::size_t(j * width_ + i)];
        if (near <= pixel.near) return;
        pixel = {near, {0, 0, 0}};
        for (int f = 0; f < max_fields; ++f)
            for (int c = 0; c < 3; ++c) pixel.value[f] += share[c] * corner[c].value[f];
    }

    int64_t width_;
    std::vector<Pixel> pixel_;  // row by row from below
};

void draw_cells(const Surface& surface, const Frame& frame,
                const std::vector<std::vector<double>>& values, Canvas* canvas) {
    for (std::size_t cell = 0; cell < surface.corners().size(); cell += 4)
        for (const auto& triangle : {std::array{0, 1, 2}, std::array{0, 2, 3}}) {
            Vector3 at[3];
            Pixel corner[3]{};
            for (int c = 0; c < 3; ++c) {
                const auto p = std::size_t(surface.corners()[cell + std::size_t(triangle[c])]);
                at[c] = frame.place(seen(surface.coordinates()[p]));
                for (std::size_t f = 0; f < values.size(); ++f) corner[c].value[f] = values[f][p];
            }
            canvas->draw(at, corner);
        }
}

PetscErrorCode reduce_to_first(MPI_Comm comm, std::vector<Pixel>* pixels) {
    PetscFunctionBegin;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    PetscMPIInt rank = 0;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Type_contiguous(sizeof(Pixel), MPI_BYTE, &type));
    PetscCallMPI(MPI_Type_commit(&type));
    PetscCallMPI(MPI_Op_create(keep_nearest, 1, &op));
    PetscCallMPI(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : pixels->data(), pixels->data(),
                            int(pixels->size()), type, op, 0, comm));
    PetscCallMPI(MPI_Op_free(&op));
    PetscCallMPI(MPI_Type_free(&type));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode write_picture(const std::string& path, const std::string& heading,
                             const Surface& surface, const std::vector<NamedField>& fields) {
    PetscFunctionBegin;
    PetscCheck(fields.size() <= max_fields, surface.comm(), PETSC_ERR_ARG_OUTOFRANGE,
               "%d fields, a picture has %d", int(fields.size()), max_fields);
    PetscMPIInt rank = 0;
    Frame frame;
    PetscCallMPI(MPI_Comm_rank(surface.comm(), &rank));
    PetscCall(frame.fit(surface));
    Canvas canvas(frame.width());
    std::vector<std::vector<double>> values(fields.size());
    for (std::size_t f = 0; f < fields.size(); ++f)
        PetscCall(surface.local_values(fields[f].field, &values[f]));
    draw_cells(surface, frame, values, &canvas);
    PetscCall(reduce_to_first(surface.comm(), &canvas.pixels()));
    int64_t n_point = surface.n_owned();
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &n_point, 1, MPI_INT64_T, MPI_SUM, surface.comm()));
    if (rank != 0) PetscFunctionReturn(0);
    constexpr int64_t step = sizeof(Pixel) / sizeof(double);
    std::vector<surrogate_png_panel> panels;
    std::vector<surrogate_png_label> labels;
    for (std::size_t f = 0; f < fields.size(); ++f) {
        surrogate_array array =
            surrogate::grid_values(&canvas.pixels().data()->value[f], frame.width(), height);
        array.stride[0] *= step;
        array.stride[1] *= step;
        panels.push_back(surrogate::panel(
            array, fields[f].min, fields[f].max,
            fields[f].is_difference ? SURROGATE_COLOR_DIVERGING : SURROGATE_COLOR_SEQUENTIAL));
        labels.push_back(surrogate::label(
            fields[f].title, fields[f].is_difference ? "difference of the pressure coefficients"
                                                     : "pressure coefficient"));
        labels.back().frame = SURROGATE_FRAME_SCALE;
        labels.back().x = {nullptr, "m", 0, double(frame.width()) / frame.scale()};
        labels.back().nan = SURROGATE_NAN_OUTLINED;
    }
    surrogate::write_png(path, heading + ", " + std::to_string(n_point) + " points", panels,
                         labels);
    PetscFunctionReturn(0);
}

}  // namespace airflow
