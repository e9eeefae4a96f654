// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/domain/columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/base/error.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/domain/array_axes.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

namespace {

bool is_wide(const surrogate_array& array) {
    return array.dtype == SURROGATE_FLOAT64 || array.dtype == SURROGATE_INT64;
}

void check_kind(const surrogate_array& array, const std::string& what, NumberKind kind) {
    const bool is_real = array.dtype == SURROGATE_FLOAT32 || array.dtype == SURROGATE_FLOAT64;
    const bool is_integer = array.dtype == SURROGATE_INT32 || array.dtype == SURROGATE_INT64;
    if (kind == NumberKind::real ? is_real : is_integer) return;
    throw Error(Status::invalid_argument,
                what + ": dtype is " + std::to_string(array.dtype) + ", expected " +
                    (kind == NumberKind::real ? "SURROGATE_FLOAT32 or SURROGATE_FLOAT64"
                                              : "SURROGATE_INT32 or SURROGATE_INT64"));
}

void check_space(const surrogate_array& array, const std::string& what, bool takes_device) {
    if (array.space == SURROGATE_HOST) return;
    if (array.space != SURROGATE_CUDA) {
        throw Error(Status::invalid_argument, what + ": space is " + std::to_string(array.space) +
                                                  ", expected SURROGATE_HOST or SURROGATE_CUDA");
    }
    if (!takes_device) {
        throw Error(Status::not_supported,
                    what +
                        ": the array lies on a device (SURROGATE_CUDA), which only fields of "
                        "plans with option backend=cuda and without gradients may do; give a host "
                        "array");
    }
    const uintptr_t size = is_wide(array) ? 8 : 4;
    if (reinterpret_cast<uintptr_t>(array.data) % size != 0) {
        throw Error(Status::invalid_argument,
                    what + ": data on a device is at an address that is not a multiple of " +
                        std::to_string(size) + ", expected alignment to the size of a number");
    }
}

}  // namespace

void check_array(const surrogate_array& array, const std::string& what, bool takes_device,
                 NumberKind kind) {
    if (array.shape[0] < 0 || array.shape[1] < 0) {
        throw Error(Status::shape, what + ": shape " + shape_text(array.shape) + " is negative");
    }
    check_kind(array, what, kind);
    check_space(array, what, takes_device);
    const bool empty = array.shape[0] == 0 || array.shape[1] == 0;
    if (!array.data && !empty) {
        throw Error(Status::invalid_argument,
                    what + ": data is NULL, but the shape is " + shape_text(array.shape));
    }
    require_addressable(axes_of(array), what);
}

Column column_of(const surrogate_array& array, int64_t index) {
    Column column;
    column.is_double = is_wide(array);
    column.stride = array.shape[0] > 1 ? array.stride[0] : 1;
    column.is_on_device = array.space == SURROGATE_CUDA;
    if (array.data && array.shape[0] > 0) {
        const int64_t offset = index * array.stride[1] * (column.is_double ? 8 : 4);
        column.data = static_cast<char*>(array.data) + offset;
    }
    return column;
}

namespace {

/// The largest |value - mean| whose quotient by std a T can hold; itself no larger than a double
/// can.
template <class T>
double largest_distance(double std) {
    constexpr double largest = std::numeric_limits<T>::max();
    constexpr double largest_double = std::numeric_limits<double>::max();
    return std < largest_double / largest ? largest * std : largest_double;
}

/// Interval of values that are in the column's range and finite after normalization. Values outside
/// of the interval are checked one by one.
struct Interior {
    double low, high;
};

template <class T>
Interior interior_of(const Column& column) {
    constexpr double largest = std::numeric_limits<double>::max() / 4;
    if (!(std::abs(column.mean) < largest)) return {largest, -largest};  // none, for simplicity
    const double reach = std::min(largest_distance<T>(column.std) / 2, largest);
    const double low = column.mean - reach, high = column.mean + reach;
    return {std::clamp(column.min, low, high), std::clamp(column.max, low, high)};
}

/// Returns whether values are copied unchanged: contiguous, in the network's type, not normalized.
template <class T>
bool is_plain(const Column& column) {
    return column.stride == 1 && column.is_double == std::is_same_v<T, double> &&
           column.mean == 0 && column.std == 1 && !column.rows;
}

/// Returns an integer that increases with the float. Comparing integers never raises a
/// floating-point exception, and it vectorizes.
int32_t key_of(float value) {
    const auto bits = std::bit_cast<int32_t>(value);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

struct Keys {
    int32_t low, high;
};
constexpr float largest_float = std::numeric_limits<float>::max();

/// Reads floats in the interior of a plain column.
Keys keys_of(const Interior& interior) {
    // Zero of either sign: -0 comes before 0 here.
    const float low = interior.low == 0 ? -0.0f : static_cast<float>(interior.low);
    const float high = interior.high == 0 ? 0.0f : static_cast<float>(interior.high);
    return {key_of(low) + (static_cast<double>(low) < interior.low ? 1 : 0),
            key_of(high) - (static_cast<double>(high) > interior.high ? 1 : 0)};
}

/// Copies, and tells whether all values lie between.
bool copy_if_between(const float* from, float* to, int64_t count, Keys keys) {
    int32_t n_beyond = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int32_t key = key_of(from[i]);
        n_beyond |= (key < keys.low) | (key > keys.high);
        to[i] = from[i];
    }
    return n_beyond == 0;
}

/// Normalises values of the interior, with zeros for the rest, and tells whether there was no rest.
template <class T, class From>
bool normalise_interior(const From* from, const Column& column, const Interior& interior,
                        int64_t count, T* to, int64_t row_stride) {
    int64_t n_inside = 0;
    for (int64_t i = 0; i < count; ++i) {
        const auto value = static_cast<double>(from[i * column.stride]);
        // Quiet comparisons, before what may overflow: a host may trap that, and invalid
        // operations.
        const bool is_inside =
            std::isgreaterequal(value, interior.low) && std::islessequal(value, interior.high);
        to[i * row_stride] = is_inside ? static_cast<T>((value - column.mean) / column.std) : T(0);
        n_inside += is_inside;
    }
    return n_inside == count;
}

/// The same for all values: zeros for those that do not fit, the first of which is returned, and
/// counts of those outside the range.
template <class T>
BadValue normalise_all(const Column& column, int64_t first, int64_t count, T* to,
                       int64_t row_stride, Outside& outside) {
    BadValue bad;
    const double largest = largest_distance<T>(column.std);
    for (int64_t i = 0; i < count; ++i) {
        const double value = load(column, first + i);
        const double distance = value - column.mean;
        const bool fits = std::islessequal(std::abs(distance), largest);
        to[i * row_stride] = fits ? static_cast<T>(distance / column.std) : T(0);
        if (!fits && bad.column < 0) bad = {0, first + i, value, true};
        if (fits && (value < column.min || value > column.max))
            outside.add(value, column.min, column.max);
    }
    return bad;
}

template <class From>
const From* values_of(const Column& column, int64_t first) {
    return static_cast<const From*>(column.data) + first * column.stride;
}

template <class T>
BadValue gather_column(const Column& column, int64_t first, int64_t count, T* to,
                       int64_t row_stride, Outside& outside) {
    const Interior interior = interior_of<T>(column);
    if constexpr (std::is_same_v<T, float>) {
        if (row_stride == 1 && is_plain<T>(column) &&
            copy_if_between(values_of<float>(column, first), to, count, keys_of(interior)))
            return {};
    }
    const bool is_done = column.is_double
                             ? normalise_interior(values_of<double>(column, first), column,
                                                  interior, count, to, row_stride)
                             : normalise_interior(values_of<float>(column, first), column, interior,
                                                  count, to, row_stride);
    if (is_done) return {};
    return normalise_all(column, first, count, to, row_stride, outside);
}

/// Calls work(column with one stride, points before it, points) for each run of points of a strided
/// block, and returns the first bad value. `work` numbers points from 0.
template <class Work>
BadValue for_each_run(const Column& column, int64_t first, int64_t count, const Work& work) {
    BadValue bad;
    Column run = column;
    run.lattice = {};
    run.stride = column.lattice.stride[0];
    column.lattice.for_each_run(first, count, [&](int64_t element, int64_t done, int64_t n) {
        run.data = static_cast<char*>(column.data) + element * (column.is_double ? 8 : 4);
        BadValue found = work(run, done, n);
        if (found.column < 0 || bad.column >= 0) return;
        found.point += first + done;
        bad = found;
    });
    return bad;
}

// Out of line: gather() and scatter() keep the loops of plain columns to themselves.
template <class T>
[[gnu::noinline]] BadValue gather_lattice(const Column& column, int64_t first, int64_t count, T* to,
                                          int64_t row_stride, Outside& outside) {
    return for_each_run(column, first, count, [&](const Column& run, int64_t done, int64_t n) {
        return gather(std::span(&run, 1), 0, n, to + done * row_stride, row_stride, 1, &outside);
    });
}

template <class T>
[[gnu::noinline]] BadValue scatter_lattice(const T* from, int64_t row_stride, const Column& column,
                                           int64_t first, int64_t count) {
    return for_each_run(column, first, count, [&](const Column& run, int64_t done, int64_t n) {
        return scatter(from + done * row_stride, row_stride, 1, std::span(&run, 1), 0, n);
    });
}

/// Reads rows into a buffer first, a tile at a time: gather() then finds them side by side.
template <class T>
[[gnu::noinline]] BadValue gather_rows(const Column& column, int64_t first, int64_t count, T* to,
                                       int64_t row_stride, Outside& outside) {
    std::array<double, kernels::tile_points> values;
    Column run = column;
    run.data = values.data();
    run.is_double = true;
    run.stride = 1;
    run.rows = nullptr;
    BadValue bad;
    for (int64_t done = 0; done < count; done += kernels::tile_points) {
        const int64_t n = std::min(kernels::tile_points, count - done);
        for (int64_t i = 0; i < n; ++i)
            values[static_cast<size_t>(i)] = load(column, first + done + i);
        const BadValue found =
            gather_column(run, 0, n, to + done * row_stride, row_stride, outside);
        if (found.column < 0 || bad.column >= 0) continue;
        bad = found;
        bad.point += first + done;
    }
    return bad;
}

}  // namespace

template <class T>
BadValue gather(std::span<const Column> columns, int64_t first, int64_t count, T* to,
                int64_t row_stride, int64_t column_stride, Outside* outside) {
    BadValue bad;
    for (size_t c = 0; c < columns.size(); ++c) {
        T* row = to + static_cast<int64_t>(c) * column_stride;
        const Column& column = columns[c];
        const BadValue found =
            column.rows ? gather_rows(column, first, count, row, row_stride, outside[c])
            : column.lattice.n_dim == 0
                ? gather_column(column, first, count, row, row_stride, outside[c])
                : gather_lattice(column, first, count, row, row_stride, outside[c]);
        if (found.column < 0 || bad.column >= 0) continue;
        bad = found;
        bad.column = static_cast<int>(c);
    }
    return bad;
}

template <class T>
BadValue scatter(const T* from, int64_t row_stride, int64_t column_stride,
                 std::span<const Column> columns, int64_t first, int64_t count) {
    BadValue bad;
    for (size_t c = 0; c < columns.size(); ++c) {
        const Column& column = columns[c];
        if (!column.data) continue;
        const T* row = from + static_cast<int64_t>(c) * column_stride;
        if (column.lattice.n_dim > 0) {
            const BadValue found = scatter_lattice(row, row_stride, column, first, count);
            if (bad.column < 0 && found.column >= 0)
                bad = {static_cast<int>(c), found.point, found.value, true};
            continue;
        }
        if constexpr (std::is_same_v<T, float>) {
            if (row_stride == 1 && is_plain<T>(column) &&
                copy_if_between(row, static_cast<float*>(column.data) + first, count,
                                {key_of(-largest_float), key_of(largest_float)}))
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
    const auto fill = [](const Column& column, int64_t, int64_t n) {
        for (int64_t i = 0; i < n; ++i) store(column, i, std::numeric_limits<double>::quiet_NaN());
        return BadValue{};
    };
    for (const Column& column : columns) {
        if (!column.data) continue;
        if (column.lattice.n_dim > 0) {
            for_each_run(column, 0, count, fill);
        } else {
            fill(column, 0, count);
        }
    }
}

template BadValue gather(std::span<const Column>, int64_t, int64_t, float*, int64_t, int64_t,
                         Outside*);
template BadValue gather(std::span<const Column>, int64_t, int64_t, double*, int64_t, int64_t,
                         Outside*);
template BadValue scatter(const float*, int64_t, int64_t, std::span<const Column>, int64_t,
                          int64_t);
template BadValue scatter(const double*, int64_t, int64_t, std::span<const Column>, int64_t,
                          int64_t);

}  // namespace surrogate::impl
