// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/hept/hept.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::hept::test {

using namespace surrogate::kernels::test;

/// Numbers that a kernel writes, NaN at first, with guard words on both sides.
template <class T>
class Output {
public:
    explicit Output(int64_t n) : n_(n), data_(n + 2 * guard) {
        const T untouchable = std::numeric_limits<T>::signaling_NaN();
        for (T& x : data_) std::memcpy(&x, &untouchable, sizeof(T));
        before_ = Buffer<T>(data_.size());
        std::memcpy(before_.data(), data_.data(), static_cast<size_t>(data_.bytes()));
    }

    T* data() { return data_.data() + guard; }
    const T* data() const { return data_.data() + guard; }
    int64_t size() const { return n_; }
    T operator[](int64_t i) const { return data()[i]; }

    void expect_kept_inside(const char* what) const {
        for (const int64_t at : {int64_t(0), guard + n_}) {
            EXPECT_EQ(std::memcmp(&data_[at], &before_[at], guard * sizeof(T)), 0)
                << what << " written outside";
        }
    }

private:
    static constexpr int64_t guard = 33;
    int64_t n_;
    Buffer<T> data_, before_;
};

template <class T>
void expect_same_bits(const Output<T>& got, const Output<T>& want) {
    for (int64_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(std::memcmp(got.data() + i, want.data() + i, sizeof(T)), 0)
            << "number " << i << ": " << got[i] << " and " << want[i];
}

/// Memory in which nothing may be read before it is written.
template <class T>
Buffer<T> poisoned(int64_t n) {
    Buffer<T> buffer(n);
    const T untouchable = std::numeric_limits<T>::signaling_NaN();
    for (T& x : buffer) std::memcpy(&x, &untouchable, sizeof(T));
    return buffer;
}

/// A size of a block, and why it is there.
struct BlockSize {
    RowShape shape;
    int64_t n_query, n_key, n_zero_key;
    std::string text() const {
        return "d " + std::to_string(shape.n_channel) + ", D " +
               std::to_string(shape.n_coordinate) + ", " + std::to_string(n_query) + " x " +
               std::to_string(n_key) + " + " + std::to_string(n_zero_key);
    }
};

inline const std::vector<BlockSize> block_sizes = {
    {{24, 6}, 100, 100, 0},   // as published
    {{24, 6}, 5, 5, 95},      // the last block of a row
    {{1, 2}, 1, 1, 0},        // the smallest
    {{4, 3}, 7, 7, 1},        // less than any vector
    {{12, 6}, 16, 16, 0},     // one group
    {{16, 4}, 17, 31, 2},     // as many queries as keys is not assumed
    {{17, 15}, 33, 13, 0},    // E and the stride are multiples of a vector, d is not
    {{40, 2}, 48, 9, 0},      // several vectors of channels
    {{3, 14}, 2, 130, 7},     // more keys than are weighed at once
    {{24, 6}, 0, 3, 0},       // no queries
    {{24, 6}, 3, 0, 3},       // no keys
    {{8, 4}, 1024, 1024, 0},  // the largest
};

/// Tokens with rows, some of which are the queries and keys of a block.
template <class T>
struct BlockProblem {
    BlockProblem(const BlockSize& size_, std::mt19937& random, double scale = 0.5)
        : BlockProblem(size_, 2 * std::max(size_.n_query, size_.n_key) + 3) {
        std::normal_distribution<float> normal;
        for (int64_t i = 0; i < n_token; ++i)
            for (int64_t e = 0; e < size.shape.n_used(); ++e)
                row(i)[e] = static_cast<T>(static_cast<float>(scale) * normal(random));
        std::shuffle(queries.begin(), queries.end(), random);
        std::shuffle(keys.begin(), keys.end(), random);
        cut();
    }
    BlockProblem(BlockProblem&&) = default;
    template <class U>
    explicit BlockProblem(const BlockProblem<U>& other) : BlockProblem(other.size, other.n_token) {
        std::copy(other.rows.begin(), other.rows.end(), rows.begin());
        queries = other.queries;
        keys = other.keys;
    }

    T* row(int64_t token) { return rows.data() + token * size.shape.stride(); }
    const T* row(int64_t token) const { return rows.data() + token * size.shape.stride(); }
    Block<T> block() const { return {rows.data(), queries, keys, size.n_zero_key}; }
    int64_t n_given() const { return size.n_query * size.shape.n_sum(); }

    Output<T> run(const Queue& queue) const { return run(queue, block()); }
    Output<T> run(const Queue& queue, const Block<T>& of) const {
        Output<T> sums(std::ssize(of.queries) * size.shape.n_sum());
        Buffer<T> scratch = poisoned<T>(attend_block_scratch(size.shape));
        const Traps traps;
        attend_block<T>(queue, size.shape, of, scratch.data(), sums.data());
        return sums;
    }
    /// dqueries, dkeys.
    std::pair<Output<T>, Output<T>> run_backward(const Queue& queue,
                                                 const std::vector<T>& given) const {
        const int64_t n_query = size.shape.n_query();
        Output<T> dqueries(size.n_query * n_query),
            dkeys(size.n_key * (n_query + size.shape.n_channel));
        Buffer<T> scratch = poisoned<T>(attend_block_scratch(size.shape));
        const Traps traps;
        attend_block_backward<T>(queue, size.shape, block(), given.data(), scratch.data(),
                                 dqueries.data(), dkeys.data());
        return {std::move(dqueries), std::move(dkeys)};
    }

    BlockSize size;
    int64_t n_token;
    Buffer<T> rows;
    std::vector<int32_t> queries, keys;

private:
    template <class U>
    friend struct BlockProblem;

    BlockProblem(const BlockSize& size_, int64_t n)
        : size(size_), n_token(n), rows(n * size_.shape.stride()), queries(static_cast<size_t>(n)) {
        std::iota(queries.begin(), queries.end(), 0);
        keys = queries;
    }
    void cut() {
        queries.resize(static_cast<size_t>(size.n_query));
        keys.resize(static_cast<size_t>(size.n_key));
    }
};

/// |Q_i - K_j|^2 of two tokens, with j negative a key of zeros.
inline double square(const BlockProblem<double>& p, int32_t i, int32_t j) {
    const int64_t d = p.size.shape.n_channel;
    double sum = 0;
    for (int64_t e = 0; e < p.size.shape.n_query(); ++e) {
        const int64_t k = e < d ? p.size.shape.n_query() + e : e;
        const double difference = p.row(i)[e] - (j < 0 ? 0.0 : p.row(j)[k]);
        sum += difference * difference;
    }
    return sum;
}

}  // namespace surrogate::kernels::hept::test
