// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace surrogate::timeloop {

/// Layout of a domain's points in bound arrays: one behind the other, or, of a block of a grid with
/// steps of its own, by latitude and longitude (surrogate_sphere).
struct Placement {
    int64_t n_point = 0;
    bool is_stepped = false;
    int64_t n_lat = 0, n_lon = 0, lat_stride = 0, lon_stride = 0;  ///< if is_stepped

    /// Numbers from the first to the last in memory, and the place of point 0 among them.
    int64_t n_memory() const;
    int64_t first() const;
};

/// One number a point in the solver's memory: floats or doubles, along up to 4 axes of any stride.
/// The memory stays the solver's.
class SolverArray {
public:
    SolverArray() = default;
    SolverArray(const surrogate_array& array, int64_t column, const Placement& placement);
    explicit SolverArray(const surrogate_block& block);

    int64_t n_point() const;
    int32_t dtype() const { return dtype_; }
    bool is_single() const { return dtype_ == SURROGATE_FLOAT32; }
    int64_t number_size() const { return is_single() ? 4 : 8; }  ///< in bytes
    /// Tells whether each point has memory of its own, as numbers to write need.
    bool is_distinct() const;

    /// Points first .. first + count - 1. Floats are written if they hold the value, NaN otherwise.
    void read(int64_t first, int64_t count, double* values) const;
    void write(int64_t first, int64_t count, const double* values) const;

    /// All points to the bit, to and from numbers of the same type that lie `step` numbers apart.
    void copy_to(std::byte* numbers, int64_t step) const;
    void copy_from(const std::byte* numbers, int64_t step) const;

private:
    template <class Run>
    void by_run(int64_t first, int64_t count, const Run& run) const;
    template <class Move>
    void move_all(int64_t step, const Move& move) const;

    void* data_ = nullptr;
    int64_t shape_[4] = {0, 1, 1, 1}, stride_[4] = {};
    int32_t dtype_ = SURROGATE_FLOAT64;
};

/// The value as an array of floats would hold it: rounded, NaN if it is beyond their range.
double as_single(double value);

/// Throws SHAPE, LIMIT, INVALID_ARGUMENT or NOT_SUPPORTED, naming `what`, unless it is an array of
/// the host for the points of `placement`, n_component numbers each, whose strides stay in the
/// address space. is_written: also unless each number has memory of its own.
void check_array(const surrogate_array& array, const std::string& what, const Placement& placement,
                 int64_t n_component, bool is_written);
void check_block(const surrogate_block& block, const std::string& what, int64_t n_point,
                 bool is_written);

}  // namespace surrogate::timeloop
