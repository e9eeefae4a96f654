// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/base/buffer.hpp"
#include "tests/kernels/base/target.hpp"

namespace surrogate::kernels::test {

/// While it lives, an invalid operation, a division by zero or an overflow of floating-point
/// numbers stops the program: a NaN fails at its birth.
class Traps {
public:
    Traps() {
        std::feclearexcept(FE_ALL_EXCEPT);
        before_ = feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    }
    ~Traps() {
        fedisableexcept(FE_ALL_EXCEPT);
        feenableexcept(before_);
    }
    Traps(const Traps&) = delete;
    Traps& operator=(const Traps&) = delete;

private:
    int before_ = 0;
};

/// Memory layout of a tile: rows longer than needed, data off every alignment by some elements.
struct Layout {
    int64_t extra_row = 0;  ///< in units of lane_count
    int64_t offset = 0;     ///< elements
};

/// A tile in memory of its own, with everything a kernel must not touch marked:
///   points          as the test fills them; NaN at first
///   padding         up to the multiple of lane_count: a finite number in inputs, NaN in outputs
///   rest of a row, before the first and behind the last row: signaling NaN, which traps if
///   anything computes with it
template <class T>
class TileBox {
public:
    enum Kind { input, output };

    TileBox(Kind kind, int64_t n_channel, int64_t n_point, Layout layout = {})
        : n_channel_(n_channel),
          n_point_(n_point),
          row_(round_up(n_point, lane_count) + layout.extra_row * lane_count),
          offset_(layout.offset + guard),
          data_(offset_ + n_channel * row_ + guard) {
        const T untouchable = std::numeric_limits<T>::signaling_NaN();
        const T nan = std::numeric_limits<T>::quiet_NaN();
        for (T& x : data_) std::memcpy(&x, &untouchable, sizeof(T));
        for (int64_t c = 0; c < n_channel; ++c) {
            for (int64_t i = 0; i < round_up(n_point, lane_count); ++i)
                data_[offset_ + c * row_ + i] = kind == input && i >= n_point ? T(0.75) : nan;
        }
        remember();
    }

    Tile<T> view() { return {data_.data() + offset_, {n_channel_, n_point_}, {row_, 1}}; }
    Tile<const T> input_view() const {
        return {data_.data() + offset_, {n_channel_, n_point_}, {row_, 1}};
    }

    template <class Value>
    void fill(const Value& value) {
        for (int64_t c = 0; c < n_channel_; ++c)
            for (int64_t i = 0; i < n_point_; ++i) view()(c, i) = static_cast<T>(value(c, i));
        remember();
    }
    void fill_normal(std::mt19937& random, double scale = 1) {
        std::normal_distribution<float> normal;
        fill([&](int64_t, int64_t) {
            return static_cast<T>(scale) * static_cast<T>(normal(random));
        });
    }
    template <class U>
    void fill_from(const TileBox<U>& other) {
        fill([&](int64_t c, int64_t i) { return other.input_view()(c, i); });
    }

    /// Inputs: every bit as before.
    void expect_unchanged(const char* what) const {
        EXPECT_EQ(std::memcmp(data_.data(), before_.data(), static_cast<size_t>(data_.bytes())), 0)
            << what << " was written to";
    }
    /// Outputs: nothing written outside the points and their padding.
    void expect_kept_inside(const char* what) const {
        for (int64_t at = 0; at < data_.size(); ++at) {
            const int64_t local = at - offset_;
            const bool is_inside = local >= 0 && local < n_channel_ * row_ &&
                                   local % row_ < round_up(n_point_, lane_count);
            ASSERT_TRUE(is_inside || std::memcmp(&data_[at], &before_[at], sizeof(T)) == 0)
                << what << " written outside the tile, at element " << local;
        }
    }

private:
    static constexpr int64_t guard = 32;

    void remember() {
        before_ = Buffer<T>(data_.size());
        std::memcpy(before_.data(), data_.data(), static_cast<size_t>(data_.bytes()));
    }

    int64_t n_channel_, n_point_, row_, offset_;
    Buffer<T> data_, before_;
};

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());

/// |got - want| <= bound at every point of a tile. A NaN fails.
template <class T>
void expect_close(Tile<const T> got, Tile<const double> want, double bound) {
    for (int64_t c = 0; c < want.shape[0]; ++c) {
        for (int64_t i = 0; i < want.shape[1]; ++i) {
            const double error = std::abs(static_cast<double>(got(c, i)) - want(c, i));
            ASSERT_TRUE(error <= bound)
                << "channel " << c << ", point " << i << ": got " << got(c, i) << ", expected "
                << want(c, i) << ", " << error / bound << " times the bound";
        }
    }
}

template <class T>
void expect_same_bits(Tile<const T> got, Tile<const T> want) {
    for (int64_t c = 0; c < want.shape[0]; ++c) {
        for (int64_t i = 0; i < want.shape[1]; ++i)
            ASSERT_EQ(std::memcmp(&got(c, i), &want(c, i), sizeof(T)), 0)
                << "channel " << c << ", point " << i << ": " << got(c, i) << " and " << want(c, i);
    }
}

/// Points around every vector width and tile size, in dense and in awkward memory.
struct TileCase {
    int64_t n_point;
    Layout layout;
};
inline const std::vector<TileCase> tile_cases = {
    {0, {}},       // empty rank
    {1, {}},       // one point
    {3, {2, 1}},   // less than any vector, misaligned rows
    {7, {0, 3}},   // one less than an AVX2 vector
    {9, {}},       // one more
    {15, {1, 0}},  // one less than an AVX-512 vector
    {17, {}},      // one more
    {31, {0, 1}}, {33, {3, 5}}, {63, {}},
    {64, {}},     {65, {1, 1}},  // one more than a tile of a sweep
    {200, {}},                   // several tiles at once
};

}  // namespace surrogate::kernels::test
