// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace surrogate::timeloop {

/// Layout of a domain's points in bound arrays: contiguous, or by latitude and longitude for a
/// block of a grid with its own strides (surrogate_sphere).
struct Placement {
    int64_t n_point = 0;
    bool is_stepped = false;
    int64_t n_lat = 0, n_lon = 0, lat_stride = 0, lon_stride = 0;  ///< if is_stepped

    /// Returns the count of numbers from the first to the last in memory; first() returns the index
    /// of point 0 in them.
    int64_t n_memory() const;
    int64_t first() const;
};

/// Accesses one number per point in the solver's memory: floats or doubles, along up to 4 axes of
/// any stride. The solver owns the memory.
class SolverArray {
public:
    SolverArray() = default;
    SolverArray(const surrogate_array& array, int64_t column, const Placement& placement);
    explicit SolverArray(const surrogate_block& block);

    int64_t n_point() const;
    int32_t dtype() const { return dtype_; }
    bool is_single() const { return dtype_ == SURROGATE_FLOAT32; }
    int64_t number_size() const { return is_single() ? 4 : 8; }  ///< in bytes
    /// Returns true if no two points use the same memory, which numbers to write require.
    bool is_distinct() const;

    /// Reads points first .. first + count - 1.
    void read(int64_t first, int64_t count, double* values) const;
    void write(int64_t first, int64_t count, const double* values) const;

    /// Copies all points bitwise to numbers of the same type that are `step` numbers apart;
    /// copy_from() copies from them.
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

/// Returns the value rounded to float; NaN if it exceeds the range of floats.
double as_single(double value);

/// Throws SHAPE, LIMIT, INVALID_ARGUMENT or NOT_SUPPORTED with `what` in the text unless the array
/// is in host memory, has n_component numbers for each point of `placement`, and its strides stay
/// in the address space. With `is_written` it also throws if two numbers use the same memory.
void check_array(const surrogate_array& array, const std::string& what, const Placement& placement,
                 int64_t n_component, bool is_written);
void check_block(const surrogate_block& block, const std::string& what, int64_t n_point,
                 bool is_written);

}  // namespace surrogate::timeloop
