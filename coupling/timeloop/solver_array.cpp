// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/solver_array.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "coupling/error/array_axes.hpp"
#include "coupling/timeloop/error.hpp"

namespace surrogate::timeloop {

namespace {

double load(float value) {
    return static_cast<double>(value);
}
double load(double value) {
    return value;
}
void store(double value, float* to) {
    *to = static_cast<float>(as_single(value));
}
void store(double value, double* to) {
    *to = value;
}

}  // namespace

double as_single(double value) {
    // A quiet comparison before the conversion, because the conversion may overflow and a host may
    // trap that.
    const bool fits =
        std::islessequal(std::abs(value), static_cast<double>(std::numeric_limits<float>::max()));
    return fits ? static_cast<double>(static_cast<float>(value))
                : std::numeric_limits<double>::quiet_NaN();
}

int64_t Placement::n_memory() const {
    if (!is_stepped || n_point == 0) return n_point;
    return 1 + (n_lat - 1) * std::abs(lat_stride) + (n_lon - 1) * std::abs(lon_stride);
}

int64_t Placement::first() const {
    if (!is_stepped || n_point == 0) return 0;
    return (n_lat - 1) * std::max<int64_t>(-lat_stride, 0) +
           (n_lon - 1) * std::max<int64_t>(-lon_stride, 0);
}

bool SolverArray::is_distinct() const {
    if (n_point() == 0) return true;
    std::array<coupling::Axis, 4> axes;
    for (size_t a = 0; a < axes.size(); ++a)
        if (shape_[a] > 1) axes[a] = {shape_[a], stride_[a]};
    return coupling::is_distinct(axes);
}

SolverArray::SolverArray(const surrogate_array& array, int64_t column, const Placement& placement)
    : dtype_(array.dtype) {
    if (array.data)
        data_ = static_cast<std::byte*>(array.data) + column * array.stride[1] * number_size();
    shape_[0] = array.shape[0];
    stride_[0] = array.stride[0];
    if (!placement.is_stepped) return;
    shape_[0] = placement.n_lon;
    shape_[1] = placement.n_lat;
    stride_[0] = array.stride[0] * placement.lon_stride;
    stride_[1] = array.stride[0] * placement.lat_stride;
}

SolverArray::SolverArray(const surrogate_block& block) : data_(block.data), dtype_(block.dtype) {
    std::copy_n(block.shape, block.n_dim, shape_);
    std::copy_n(block.stride, block.n_dim, stride_);
}

int64_t SolverArray::n_point() const {
    return shape_[0] * shape_[1] * shape_[2] * shape_[3];
}

/// Calls run(offset of the first element, points before it, length) for each run along the first
/// axis.
template <class Run>
void SolverArray::by_run(int64_t first, int64_t count, const Run& run) const {
    int64_t done = 0;
    while (done < count) {
        int64_t rest = first + done, offset = 0;
        for (int axis = 0; axis < 4; ++axis) {
            offset += rest % shape_[axis] * stride_[axis];
            rest /= shape_[axis];
        }
        const int64_t length = std::min(count - done, shape_[0] - (first + done) % shape_[0]);
        run(offset, done, length);
        done += length;
    }
}

void SolverArray::read(int64_t first, int64_t count, double* values) const {
    const auto read_as = [&](const auto* data) {
        by_run(first, count, [&](int64_t offset, int64_t done, int64_t length) {
            for (int64_t i = 0; i < length; ++i)
                values[done + i] = load(data[offset + i * stride_[0]]);
        });
    };
    is_single() ? read_as(static_cast<const float*>(data_))
                : read_as(static_cast<const double*>(data_));
}

void SolverArray::write(int64_t first, int64_t count, const double* values) const {
    const auto write_as = [&](auto* data) {
        by_run(first, count, [&](int64_t offset, int64_t done, int64_t length) {
            for (int64_t i = 0; i < length; ++i)
                store(values[done + i], data + offset + i * stride_[0]);
        });
    };
    is_single() ? write_as(static_cast<float*>(data_)) : write_as(static_cast<double*>(data_));
}

/// Calls move(address in the array, offset in bytes of numbers `step` apart) for each number.
template <class Move>
void SolverArray::move_all(int64_t step, const Move& move) const {
    const int64_t size = number_size();
    by_run(0, n_point(), [&](int64_t offset, int64_t done, int64_t length) {
        std::byte* const data = static_cast<std::byte*>(data_) + offset * size;
        for (int64_t i = 0; i < length; ++i)
            move(data + i * stride_[0] * size, (done + i) * step * size);
    });
}

void SolverArray::copy_to(std::byte* numbers, int64_t step) const {
    const auto copy = [&]<size_t size>(std::integral_constant<size_t, size>) {
        move_all(step,
                 [&](const std::byte* own, int64_t at) { std::memcpy(numbers + at, own, size); });
    };
    is_single() ? copy(std::integral_constant<size_t, 4>())
                : copy(std::integral_constant<size_t, 8>());
}

void SolverArray::copy_from(const std::byte* numbers, int64_t step) const {
    const auto copy = [&]<size_t size>(std::integral_constant<size_t, size>) {
        move_all(step, [&](std::byte* own, int64_t at) { std::memcpy(own, numbers + at, size); });
    };
    is_single() ? copy(std::integral_constant<size_t, 4>())
                : copy(std::integral_constant<size_t, 8>());
}

namespace {

void check_place(const std::string& what, int32_t dtype, int32_t space) {
    if (space != SURROGATE_HOST)
        fail(SURROGATE_NOT_SUPPORTED,
             what + ": space is " + std::to_string(space) +
                 ", expected SURROGATE_HOST; a time loop needs arrays in host memory");
    if (dtype != SURROGATE_FLOAT32 && dtype != SURROGATE_FLOAT64)
        fail(SURROGATE_INVALID_ARGUMENT, what + ": dtype is " + std::to_string(dtype) +
                                             ", expected SURROGATE_FLOAT32 or SURROGATE_FLOAT64");
}

void check_data(const std::string& what, const void* data, int64_t n) {
    if (!data && n > 0)
        fail(SURROGATE_INVALID_ARGUMENT,
             what + ": data is NULL, for " + std::to_string(n) + " numbers");
}

int64_t number_bytes(int32_t dtype) {
    return dtype == SURROGATE_FLOAT32 ? 4 : 8;
}

}  // namespace

void check_array(const surrogate_array& array, const std::string& what, const Placement& placement,
                 int64_t n_component, bool is_written) {
    const int64_t n_point = placement.n_point;
    check_place(what, array.dtype, array.space);
    const auto text = [](int64_t rows, int64_t columns) {
        return "(" + std::to_string(rows) + ", " + std::to_string(columns) + ")";
    };
    const int64_t n_row = array.shape[0], n_column = array.shape[1];
    if (n_row != n_point || n_column != n_component)
        fail(SURROGATE_SHAPE,
             what + ": array has shape " + text(n_row, n_column) + ", expected " +
                 text(n_point, n_component) +
                 (n_row == n_component && n_column == n_point ? "; it looks transposed" : ""));
    if (n_point == 0 || n_component == 0) return;
    std::array<coupling::Axis, 3> axes = {coupling::Axis{n_component, array.stride[1]},
                                          coupling::Axis{n_point, array.stride[0]}};
    if (placement.is_stepped) {
        axes[1] = {placement.n_lat, coupling::stepped(array.stride[0], placement.lat_stride)};
        axes[2] = {placement.n_lon, coupling::stepped(array.stride[0], placement.lon_stride)};
    }
    coupling::check_axes(what, axes, number_bytes(array.dtype), is_written);
    check_data(what, array.data, n_point * n_component);
}

void check_block(const surrogate_block& block, const std::string& what, int64_t n_point,
                 bool is_written) {
    check_place(what, block.dtype, block.space);
    if (block.n_dim < 1 || block.n_dim > 4)
        fail(SURROGATE_SHAPE,
             what + ": n_dim is " + std::to_string(block.n_dim) + ", expected 1 to 4");
    int64_t n = 1;
    bool is_possible = true;
    std::string shape;
    for (int axis = 0; axis < block.n_dim; ++axis) {
        const int64_t extent = block.shape[axis];
        shape += (axis > 0 ? " x " : "") + std::to_string(extent);
        is_possible &= extent >= 0 && !__builtin_mul_overflow(n, extent, &n);
    }
    if (!is_possible || n != n_point)
        fail(SURROGATE_SHAPE, what + ": the block has " + shape + " points, the domain has " +
                                  std::to_string(n_point));
    check_data(what, block.data, n);
    if (n == 0) return;
    std::array<coupling::Axis, 4> axes;
    for (size_t axis = 0; axis < static_cast<size_t>(block.n_dim); ++axis)
        axes[axis] = {block.shape[axis], block.stride[axis]};
    coupling::check_axes(what, axes, number_bytes(block.dtype), is_written);
}

}  // namespace surrogate::timeloop
