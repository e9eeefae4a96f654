// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/layers/gradient_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace surrogate::impl {

using kernels::Buffer;

namespace {

constexpr int piece_bits = 40;
constexpr double piece = 0x1p40;
constexpr int64_t no_top = std::numeric_limits<int64_t>::min();
// Beyond 2^960 the scales of pieces are no doubles; below 2^-960 numbers count as if they were larger.
constexpr double too_large = 0x1p960;
constexpr int64_t least_top = -24;

/// 2^(40 j).
double unit(int64_t j) {
    return std::ldexp(1.0, static_cast<int>(piece_bits * j));
}

/// The piece that the leading bit of a number lies in.
int64_t top_of(double largest) {
    const int exponent = std::ilogb(largest);
    const int below = exponent < 0 ? piece_bits - 1 : 0;
    return std::max<int64_t>(least_top, (exponent - below) / piece_bits);
}

/// Largest size; infinity if one is not finite.
double largest_of(const double* values, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; ++i) {
        if (!std::isfinite(values[i])) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, std::abs(values[i]));
    }
    return largest;
}

/// Infinity beyond the range of floats, which a host may trap when a conversion finds it.
float to_float(double value) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (std::isgreater(std::abs(value), double{std::numeric_limits<float>::max()}))
        return value > 0 ? infinity : -infinity;
    return static_cast<float>(value);
}

}  // namespace

GradientSums::GradientSums(const MasterWeights& master, int n_thread, GradientOrder order)
    : master_(master),
      order_(order),
      size_(std::ssize(master.values())),
      is_bad_(static_cast<size_t>(n_thread)),
      total_(size_) {
    for (int thread = 0; thread < n_thread; ++thread) {
        arenas_.emplace_back(size_);
        if (order_ != GradientOrder::exact) continue;
        pieces_.push_back({Buffer<int64_t>(std::ssize(master.entries())), Buffer<int64_t>(size_),
                           Buffer<int64_t>(size_)});
    }
    // Behind the tops, or the pieces, stands the flag of a bad rank.
    if (order_ == GradientOrder::exact)
        words_ = Buffer<int64_t>(std::max(2 * size_, std::ssize(master.entries()) + 1));
    if (order_ == GradientOrder::single) sent_ = Buffer<float>(size_);
    clear();
}

void GradientSums::clear() {
    is_poisoned_ = false;
    std::ranges::fill(is_bad_, uint8_t{0});
    for (Buffer<double>& arena : arenas_) std::ranges::fill(arena, 0.0);
    for (Pieces& pieces : pieces_) {
        std::ranges::fill(pieces.top, no_top);
        std::ranges::fill(pieces.upper, 0);
        std::ranges::fill(pieces.lower, 0);
    }
}

std::span<double> GradientSums::open(int thread) {
    Buffer<double>& arena = arenas_[static_cast<size_t>(thread)];
    return {arena.begin(), arena.end()};
}

void GradientSums::close(int thread, int64_t begin, int64_t end) {
    if (order_ != GradientOrder::exact) return;
    const auto t = static_cast<size_t>(thread);
    const std::vector<MasterWeights::Entry>& entries = master_.entries();
    const auto first = std::ranges::lower_bound(entries, begin, {}, &MasterWeights::Entry::first);
    for (auto entry = first; entry != entries.end() && entry->first < end; ++entry) {
        const auto tensor = static_cast<size_t>(entry - entries.begin());
        double* const from = arenas_[t].data() + entry->first;
        const double largest = largest_of(from, entry->size);
        if (largest < too_large) {
            if (largest > 0) {
                raise(pieces_[t], tensor, top_of(largest));
                take(pieces_[t], tensor, from);
            }
        } else {
            is_bad_[t] = 1;
        }
        std::fill_n(from, entry->size, 0.0);
    }
}

/// Everything behind the piece that a number of its size begins in is cut towards zero, wherever
/// the tensor's uppermost piece happens to be by now: so the order of chunks does not matter.
void GradientSums::take(Pieces& pieces, size_t tensor, double* from) {
    const MasterWeights::Entry& entry = master_.entries()[tensor];
    const double scale = unit(1 - pieces.top[static_cast<int64_t>(tensor)]);
    int64_t* const upper = pieces.upper.data() + entry.first;
    int64_t* const lower = pieces.lower.data() + entry.first;
    for (int64_t i = 0; i < entry.size; ++i) {
        const double number = from[i] * scale;
        const auto high = static_cast<int64_t>(number / piece);
        upper[i] += high;
        lower[i] += static_cast<int64_t>(number - static_cast<double>(high) * piece);
    }
}

void GradientSums::raise(Pieces& pieces, size_t tensor, int64_t top) const {
    int64_t& now = pieces.top[static_cast<int64_t>(tensor)];
    if (top <= now) return;
    const MasterWeights::Entry& entry = master_.entries()[tensor];
    int64_t* const upper = pieces.upper.data() + entry.first;
    int64_t* const lower = pieces.lower.data() + entry.first;
    if (now == top - 1) {
        std::copy_n(upper, entry.size, lower);
    } else {
        std::fill_n(lower, entry.size, 0);
    }
    std::fill_n(upper, entry.size, 0);
    now = top;
}

void GradientSums::join_threads() {
    for (const uint8_t bad : is_bad_) is_poisoned_ = is_poisoned_ || bad;
    if (order_ != GradientOrder::exact) {
        std::ranges::copy(arenas_.front(), total_.begin());
        for (size_t t = 1; t < arenas_.size(); ++t) {
            for (int64_t i = 0; i < size_; ++i) total_[i] += arenas_[t][i];
        }
        return;
    }
    Pieces& all = pieces_.front();
    for (size_t t = 1; t < pieces_.size(); ++t) {
        for (size_t tensor = 0; tensor < master_.entries().size(); ++tensor) {
            const int64_t top = pieces_[t].top[static_cast<int64_t>(tensor)];
            if (top == no_top) continue;
            raise(all, tensor, top);
            raise(pieces_[t], tensor, all.top[static_cast<int64_t>(tensor)]);
        }
        for (int64_t i = 0; i < size_; ++i) {
            all.upper[i] += pieces_[t].upper[i];
            all.lower[i] += pieces_[t].lower[i];
        }
    }
}

bool GradientSums::reduce(Communicator& comm) {
    join_threads();
    return order_ == GradientOrder::exact ? reduce_exact(comm) : reduce_floats(comm);
}

bool GradientSums::reduce_exact(Communicator& comm) {
    Pieces& all = pieces_.front();
    const int64_t n_tensor = all.top.size();
    std::ranges::copy(all.top, words_.begin());
    words_[n_tensor] = is_poisoned_ ? 1 : 0;
    comm.all_reduce_max(std::span(words_.data(), static_cast<size_t>(n_tensor + 1)));
    if (words_[n_tensor] != 0) return false;
    for (int64_t tensor = 0; tensor < n_tensor; ++tensor)
        raise(all, static_cast<size_t>(tensor), words_[tensor]);
    std::ranges::copy(all.upper, words_.begin());
    std::ranges::copy(all.lower, words_.begin() + size_);
    comm.all_reduce_sum(std::span(words_.data(), static_cast<size_t>(2 * size_)));
    for (int64_t tensor = 0; tensor < n_tensor; ++tensor) {
        const MasterWeights::Entry& entry = master_.entries()[static_cast<size_t>(tensor)];
        if (all.top[tensor] == no_top) {
            std::fill_n(total_.begin() + entry.first, entry.size, 0.0);
            continue;
        }
        const double high = unit(all.top[tensor]), low = unit(all.top[tensor] - 1);
        for (int64_t i = entry.first; i < entry.first + entry.size; ++i)
            total_[i] = static_cast<double>(words_[i]) * high +
                        static_cast<double>(words_[size_ + i]) * low;
    }
    return true;
}

bool GradientSums::reduce_floats(Communicator& comm) {
    if (is_poisoned_) std::ranges::fill(total_, std::numeric_limits<double>::quiet_NaN());
    if (order_ == GradientOrder::real) {
        comm.all_reduce_sum(std::span(total_.data(), static_cast<size_t>(size_)));
    } else if (comm.size() > 1) {
        std::ranges::transform(total_, sent_.begin(), to_float);
        comm.all_reduce_sum(std::span(sent_.data(), static_cast<size_t>(size_)));
        std::ranges::copy(sent_, total_.begin());
    }
    return std::ranges::all_of(total_, [](double value) { return std::isfinite(value); });
}

int64_t GradientSums::bytes_sent() const {
    if (order_ == GradientOrder::exact) return 8 * (std::ssize(master_.entries()) + 1 + 2 * size_);
    return (order_ == GradientOrder::real ? 8 : 4) * size_;
}

int64_t GradientSums::bytes() const {
    int64_t n = sent_.bytes() + words_.bytes() + total_.bytes();
    for (const Buffer<double>& arena : arenas_) n += arena.bytes();
    for (const Pieces& pieces : pieces_)
        n += pieces.top.bytes() + pieces.upper.bytes() + pieces.lower.bytes();
    return n;
}

}  // namespace surrogate::impl
