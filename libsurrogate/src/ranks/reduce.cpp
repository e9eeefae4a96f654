// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/reduce.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace surrogate::impl {

namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

/// Integers in the order of the numbers, -inf < .. < -0 < 0 < .. < inf < NaN: of a NaN, a maximum
/// of doubles may make anything.
int64_t key_of(double value) {
    if (std::isnan(value)) return largest;
    const auto bits = std::bit_cast<int64_t>(value);
    return bits < 0 ? bits ^ largest : bits;
}

double value_of(int64_t key) {
    return std::bit_cast<double>(key < 0 ? key ^ largest : key);
}

void reduce_max(Communicator& comm, double sign, int64_t n, double* values) {
    constexpr int64_t n_piece = 256;  // 2 KB on the stack
    int64_t keys[n_piece];
    for (int64_t first = 0; first < n; first += n_piece) {
        const int64_t count = std::min(n_piece, n - first);
        for (int64_t i = 0; i < count; ++i) keys[i] = key_of(sign * values[first + i]);
        comm.all_reduce_max(std::span(keys, static_cast<size_t>(count)));
        for (int64_t i = 0; i < count; ++i) values[first + i] = sign * value_of(keys[i]);
    }
}

void require_arguments(ReduceBy by, int64_t n, const double* values) {
    if (by != ReduceBy::sum && by != ReduceBy::max && by != ReduceBy::min) {
        throw Error(Status::invalid_argument,
                    "op is " + std::to_string(static_cast<int32_t>(by)) +
                        ", expected SURROGATE_SUM, SURROGATE_MAX or SURROGATE_MIN");
    }
    if (n < 0) throw Error(Status::shape, "n is " + std::to_string(n) + ", expected 0 or more");
    constexpr int64_t most = largest / static_cast<int64_t>(sizeof(double));
    if (n > most)
        throw Error(Status::limit, "n is " + std::to_string(n) + ", expected at most " +
                                       std::to_string(most) + ", the doubles that memory can hold");
    if (!values && n > 0) throw Error(Status::invalid_argument, "argument 'values' is NULL");
}

/// The ranks must agree on op and n; one reduction says that they do, and that no argument is
/// wrong.
void require_same_arguments(Communicator& comm, ReduceBy by, int64_t n, const double* values) {
    const auto check = [&] { require_arguments(by, n, values); };
    bool is_good = true;
    try {
        check();
    } catch (...) {
        is_good = false;
    }
    const int64_t op = is_good ? static_cast<int64_t>(by) : 0, count = is_good ? n : 0;
    int64_t facts[] = {!is_good, op, -op, count, -count};
    comm.all_reduce_max(std::span(facts));
    if (facts[0]) comm.agree(check);
    if (facts[1] == -facts[2] && facts[3] == -facts[4]) return;
    throw Error(Status::invalid_argument,
                "ranks give different arguments: op " + std::to_string(-facts[2]) + " .. " +
                    std::to_string(facts[1]) + ", n " + std::to_string(-facts[4]) + " .. " +
                    std::to_string(facts[3]));
}

}  // namespace

void reduce(Communicator& comm, ReduceBy by, int64_t n, double* values) {
    require_same_arguments(comm, by, n, values);
    if (by == ReduceBy::sum)
        comm.all_reduce_sum(std::span(values, static_cast<size_t>(n)));
    else
        reduce_max(comm, by == ReduceBy::min ? -1 : 1, n, values);
}

bool on_all_ranks(Communicator& comm, bool holds) {
    int64_t fails = holds ? 0 : 1;
    comm.all_reduce_max(std::span(&fails, 1));
    return fails == 0;
}

}  // namespace surrogate::impl
