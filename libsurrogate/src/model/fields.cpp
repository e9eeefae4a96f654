// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/fields.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

namespace {

void check_space(const surrogate_array& array, const std::string& what, bool takes_device) {
    if (array.space == SURROGATE_HOST) return;
    if (array.space != SURROGATE_CUDA) {
        throw Error(Status::invalid_argument,
                    what + ": space must be SURROGATE_HOST or SURROGATE_CUDA, is " +
                        std::to_string(array.space));
    }
    if (!takes_device) {
        throw Error(Status::not_supported,
                    what +
                        ": the array lies on a device (SURROGATE_CUDA), which only fields of "
                        "plans with option backend=cuda may do; give a host array");
    }
    const uintptr_t size = array.dtype == SURROGATE_FLOAT64 ? 8 : 4;
    if (reinterpret_cast<uintptr_t>(array.data) % size != 0) {
        throw Error(Status::invalid_argument, what + ": data on a device must be aligned to its " +
                                                  std::to_string(size) + " bytes");
    }
}

}  // namespace

void check_array(const surrogate_array& array, const std::string& what, bool takes_device) {
    if (array.shape[0] < 0 || array.shape[1] < 0) {
        throw Error(Status::shape, what + ": shape " + shape_text(array.shape) + " is negative");
    }
    if (array.dtype != SURROGATE_FLOAT32 && array.dtype != SURROGATE_FLOAT64) {
        throw Error(Status::invalid_argument,
                    what + ": dtype must be SURROGATE_FLOAT32 or SURROGATE_FLOAT64, is " +
                        std::to_string(array.dtype));
    }
    check_space(array, what, takes_device);
    const bool empty = array.shape[0] == 0 || array.shape[1] == 0;
    if (!array.data && !empty) {
        throw Error(Status::invalid_argument,
                    what + ": data is NULL, but the shape is " + shape_text(array.shape));
    }
}

Column column_of(const surrogate_array& array, int64_t index) {
    Column column;
    column.is_double = array.dtype == SURROGATE_FLOAT64;
    column.stride = array.stride[0];
    column.is_on_device = array.space == SURROGATE_CUDA;
    const int64_t offset = index * array.stride[1] * (column.is_double ? 8 : 4);
    column.data = array.data ? static_cast<char*>(array.data) + offset : nullptr;
    return column;
}

namespace {

/// The largest |value - mean| whose quotient by std a T can hold; itself no larger than a double
/// can.
template <class T>
double largest_distance(double std) {
    return static_cast<double>(std::numeric_limits<T>::max()) *
           (std::is_same_v<T, double> ? std::min(std, 1.0) : std);
}

/// Whether values pass as they are: contiguous, in the network's type, not normalised.
template <class T>
bool is_plain(const Column& column) {
    return column.stride == 1 && column.is_double == std::is_same_v<T, double> &&
           column.mean == 0 && column.std == 1;
}

/// Copies, and tells whether all values are finite, by their bits: no operation that a host may
/// trap.
bool copy_if_finite(const float* from, float* to, int64_t count) {
    uint32_t largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t exponent = std::bit_cast<uint32_t>(from[i]) & 0x7f800000u;
        largest = exponent > largest ? exponent : largest;
        to[i] = from[i];
    }
    return largest != 0x7f800000u;
}

}  // namespace

template <class T>
BadValue gather(std::span<const Column> columns, int64_t first, int64_t count, T* to,
                int64_t row_stride, int64_t column_stride) {
    BadValue bad;
    for (size_t c = 0; c < columns.size(); ++c) {
        const Column& column = columns[c];
        T* row = to + static_cast<int64_t>(c) * column_stride;
        if constexpr (std::is_same_v<T, float>) {
            if (row_stride == 1 && is_plain<T>(column) &&
                copy_if_finite(static_cast<const float*>(column.data) + first, row, count))
                continue;
        }
        const double largest = largest_distance<T>(column.std);
        for (int64_t i = 0; i < count; ++i) {
            const double value = load(column, first + i);
            // A quiet comparison, before what may overflow: a host may trap that, and invalid
            // operations.
            const double distance = value - column.mean;
            const bool fits = std::islessequal(std::abs(distance), largest);
            row[i * row_stride] = fits ? static_cast<T>(distance / column.std) : T(0);
            if (!fits && bad.column < 0) bad = {static_cast<int>(c), first + i, value, true};
        }
    }
    return bad;
}

template <class T>
BadValue scatter(const T* from, int64_t row_stride, int64_t column_stride,
                 std::span<const Column> columns, int64_t first, int64_t count) {
    BadValue bad;
    for (size_t c = 0; c < columns.size(); ++c) {
        const Column& column = columns[c];
        const T* row = from + static_cast<int64_t>(c) * column_stride;
        if constexpr (std::is_same_v<T, float>) {
            if (row_stride == 1 && is_plain<T>(column) &&
                copy_if_finite(row, static_cast<float*>(column.data) + first, count))
                continue;
        }
        const double largest = column.is_double ? std::numeric_limits<double>::max()
                                                : std::numeric_limits<float>::max();
        for (int64_t i = 0; i < count; ++i) {
            const double value =
                static_cast<double>(row[i * row_stride]) * column.std + column.mean;
            const bool fits = std::islessequal(std::abs(value), largest);
            if (!fits && bad.column < 0) bad = {static_cast<int>(c), first + i, value, true};
            store(column, first + i, fits ? value : std::numeric_limits<double>::quiet_NaN());
        }
    }
    return bad;
}

void fill_nan(std::span<const Column> columns, int64_t count) {
    for (const Column& column : columns) {
        for (int64_t i = 0; i < count; ++i)
            store(column, i, std::numeric_limits<double>::quiet_NaN());
    }
}

template BadValue gather(std::span<const Column>, int64_t, int64_t, float*, int64_t, int64_t);
template BadValue gather(std::span<const Column>, int64_t, int64_t, double*, int64_t, int64_t);
template BadValue scatter(const float*, int64_t, int64_t, std::span<const Column>, int64_t,
                          int64_t);
template BadValue scatter(const double*, int64_t, int64_t, std::span<const Column>, int64_t,
                          int64_t);

}  // namespace surrogate::impl
