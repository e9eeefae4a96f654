// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "tests/libsurrogate/conformance/family_case.hpp"

namespace surrogate::test {

/// Memory layout of a solver's channels.
struct Format {
    const char* name = "Float";
    bool is_double = false;
    bool is_planar = false;   ///< one array per channel; otherwise a point's channels are adjacent
    int64_t gap = 0;          ///< numbers between points, or between channels, that are not ours
    bool is_integer = false;  ///< the numbers are, and as long as real ones would be
};

/// Channels of the points of a share in a solver's memory. What lies between is NaN, or of integers
/// the least one, as are all values before they are set.
class PointArray {
public:
    PointArray(const Share& share, int64_t n_channel, const Format& format);

    size_t n_point() const { return share_->points.size(); }
    int64_t n_channel() const { return n_channel_; }
    void set(size_t point, int64_t channel, double value);
    double get(size_t point, int64_t channel) const;
    void set_all(double value);
    /// Returns whether nothing was written beside the points.
    bool has_clean_gaps() const;

    surrogate_array all();                     ///< (n, n_channel)
    surrogate_array channel(int64_t channel);  ///< (n, 1)

private:
    size_t at(size_t point, int64_t channel) const {
        return static_cast<size_t>(share_->places[point] * step_ + channel * channel_step_);
    }

    const Share* share_;
    int64_t n_channel_, step_, channel_step_;
    std::variant<std::vector<float>, std::vector<double>, std::vector<int32_t>,
                 std::vector<int64_t>>
        values_;
};

}  // namespace surrogate::test
