// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "libsurrogate/src/domain/lattice.hpp"
#include "libsurrogate/src/domain/outside.hpp"
#include "surrogate/surrogate.h"

namespace surrogate::impl {

enum class NumberKind { real, integer };

/// One number a point somewhere in the caller's memory, and what it means to the network:
///   network input = (value - mean) / std,   prediction = value * std + mean
struct Column {
    void* data = nullptr;
    int64_t stride = 1;      ///< elements between points
    bool is_double = false;  ///< 8 bytes; of integers: int64, otherwise int32
    double mean = 0, std = 1;
    bool is_on_device = false;
    bool is_constant = false;  ///< the same memory and numbers until points move: coordinates
    /// Inputs: values outside are counted. The default is no range.
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
    /// If there is one, where the points lie, instead of the stride. Host only.
    Lattice lattice = {};
    /// If not null, (points): the number of point i is element rows[i] * stride. Host only; not in
    /// a block.
    const int64_t* rows = nullptr;

    int64_t element(int64_t i) const { return (rows ? rows[i] : i) * stride; }
};

/// Throws shape, limit, invalid_argument or not_supported unless the array can be read: its type,
/// counts, data, strides (require_addressable()), and host memory unless takes_device (aligned
/// there). `what` begins the message. Outputs also need require_distinct().
void check_array(const surrogate_array& array, const std::string& what, bool takes_device = false,
                 NumberKind kind = NumberKind::real);

/// Returns component `index` of a checked array as a column without normalization.
Column column_of(const surrogate_array& array, int64_t index);

// Returns one number of a column with a single stride.
inline double load(const Column& column, int64_t i) {
    return column.is_double
               ? static_cast<const double*>(column.data)[column.element(i)]
               : static_cast<double>(static_cast<const float*>(column.data)[column.element(i)]);
}

/// Returns element i of a column of integers.
inline int64_t load_integer(const Column& column, int64_t i) {
    return column.is_double ? static_cast<const int64_t*>(column.data)[column.element(i)]
                            : static_cast<const int32_t*>(column.data)[column.element(i)];
}

inline void store(const Column& column, int64_t i, double value) {
    if (column.is_double) {
        static_cast<double*>(column.data)[column.element(i)] = value;
    } else {
        static_cast<float*>(column.data)[column.element(i)] = static_cast<float>(value);
    }
}

/// Location of the first value that is not finite; column < 0: there is none.
struct BadValue {
    int column = -1;
    int64_t point = 0;
    double value = 0;
    bool is_value_known = true;  ///< a device reports the place only
    /// Required value, such as "a whole number from 0 to 6", if finite is not enough; a static
    /// string.
    const char* required = nullptr;
};

/// The first bad value of each share of some work (threads, rows), kept while all of them go on.
class FirstBad {
public:
    FirstBad() = default;
    explicit FirstBad(int64_t n_share) : found_(n_share) {}

    void clear() { std::fill(found_.begin(), found_.end(), BadValue{}); }
    void note(int64_t share, const BadValue& bad) {
        if (bad.column >= 0 && found_[share].column < 0) found_[share] = bad;
    }
    /// Returns the value of the lowest thread that has one.
    BadValue first() const {
        for (const BadValue& bad : found_) {
            if (bad.column >= 0) return bad;
        }
        return {};
    }

private:
    kernels::Buffer<BadValue> found_;  // (n_share)
};

/// Writes the normalized inputs of `count` points from `first` to rows: to[i * row_stride + c *
/// column_stride]. Returns the first value that is not finite after normalization and conversion.
/// Values outside their column's range are added to outside (columns).
template <class T>
BadValue gather(std::span<const Column> columns, int64_t first, int64_t count, T* to,
                int64_t row_stride, int64_t column_stride, Outside* outside);

/// Writes denormalized predictions to the caller's memory, for columns with data (reverse of
/// gather()). Returns the first value that the caller's type cannot hold as a finite number; NaN is
/// stored for such values.
template <class T>
BadValue scatter(const T* from, int64_t row_stride, int64_t column_stride,
                 std::span<const Column> columns, int64_t first, int64_t count);

/// Writes NaN to all columns with data, of `count` points, after a failed run.
void fill_nan(std::span<const Column> columns, int64_t count);

}  // namespace surrogate::impl
