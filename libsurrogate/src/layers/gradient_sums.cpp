// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/layers/gradient_sums.hpp"

#include <algorithm>

namespace surrogate::impl {

using kernels::Buffer;

namespace {

constexpr double piece = 0x1p40;
// Beyond 2^960 the scales of pieces are no doubles; below 2^-960 numbers count as if they were
// larger.
constexpr double too_large = 0x1p960;
constexpr int64_t least_top = -24;

/// The piece that the leading bit of a number lies in.
int64_t top_of(double largest, int piece_bits) {
    const int exponent = std::ilogb(largest);
    const int below = exponent < 0 ? piece_bits - 1 : 0;
    return std::max<int64_t>(least_top, (exponent - below) / piece_bits);
}

int64_t bytes_of_number(GradientOrder order) {
    return order == GradientOrder::single ? 4 : 8;
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

}  // namespace

GradientSums::GradientSums(const MasterWeights& master, int n_thread, GradientOrder order,
                           std::span<const int> stages, int64_t bucket_bytes)
    : master_(master),
      order_(order),
      buckets_(master, stages, bucket_bytes / bytes_of_number(order)),
      size_(order == GradientOrder::none ? 0 : std::ssize(master.values())),
      is_bad_(static_cast<size_t>(n_thread)),
      travels_(buckets_.list().size()) {
    for (int thread = 0; thread < n_thread; ++thread) {
        arenas_.emplace_back(size_);
        if (order_ != GradientOrder::exact) continue;
        pieces_.push_back({Buffer<int64_t>(std::ssize(master.entries())), Buffer<int64_t>(size_),
                           Buffer<int64_t>(size_)});
    }
    if (order_ == GradientOrder::single) floats_ = Buffer<float>(buckets_.size());
    if (order_ == GradientOrder::real) doubles_ = Buffer<double>(buckets_.size());
    if (order_ == GradientOrder::exact) {
        words_ = Buffer<int64_t>(2 * buckets_.size());
        tops_ = Buffer<int64_t>(std::ssize(master.entries()) + std::ssize(buckets_.list()));
    }
    for (size_t thread = 0; thread < arenas_.size(); ++thread)
        parts_.emplace_back(new GradientSums(*this, thread));
    clear();
}

void GradientSums::clear() {
    for (const Travel& travel : travels_) is_lost_ = is_lost_ || travel.is_under_way;
    std::ranges::fill(travels_, Travel{});
    comm_ = nullptr;
    stage_ = 0;
    n_begun_ = 0;
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
    if (whole_) return whole_->open(static_cast<int>(first_thread_) + thread);
    Buffer<double>& arena = arenas_[static_cast<size_t>(thread)];
    return {arena.begin(), arena.end()};
}

void GradientSums::close(int thread, int64_t begin, int64_t end) {
    if (order_ != GradientOrder::exact) return;
    if (whole_) return whole_->close(static_cast<int>(first_thread_) + thread, begin, end);
    const auto t = static_cast<size_t>(thread);
    const std::vector<MasterWeights::Entry>& entries = master_.entries();
    const auto first = std::ranges::lower_bound(entries, begin, {}, &MasterWeights::Entry::first);
    for (auto entry = first; entry != entries.end() && entry->first < end; ++entry) {
        const auto tensor = static_cast<size_t>(entry - entries.begin());
        double* const from = arenas_[t].data() + entry->first;
        const double largest = largest_of(from, entry->size);
        if (largest < too_large) {
            if (largest > 0) {
                raise(pieces_[t], tensor, top_of(largest, piece_bits));
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

void GradientSums::join_threads(const Bucket& bucket) {
    for (const uint8_t bad : is_bad_) is_poisoned_ = is_poisoned_ || bad;
    for (size_t t = 1; t < arenas_.size(); ++t) {
        for (const GradientBuckets::Place& place : buckets_.places(bucket)) {
            const MasterWeights::Entry& entry = entry_of(place);
            const int64_t end = entry.first + entry.size;
            if (order_ != GradientOrder::exact) {
                for (int64_t i = entry.first; i < end; ++i) arenas_[0][i] += arenas_[t][i];
                continue;
            }
            const int64_t top = pieces_[t].top[place.tensor];
            if (top == no_top) continue;
            const auto tensor = static_cast<size_t>(place.tensor);
            raise(pieces_[0], tensor, top);
            raise(pieces_[t], tensor, pieces_[0].top[place.tensor]);
            for (int64_t i = entry.first; i < end; ++i) {
                pieces_[0].upper[i] += pieces_[t].upper[i];
                pieces_[0].lower[i] += pieces_[t].lower[i];
            }
        }
    }
}

int64_t GradientSums::bytes_sent() const {
    const int64_t n_top = order_ == GradientOrder::exact ? tops_.size() : 0;
    const int64_t n_piece = order_ == GradientOrder::exact ? 2 : 1;
    return 8 * n_top + n_piece * bytes_of_number(order_) * buckets_.size();
}

int64_t GradientSums::collectives() const {
    return (order_ == GradientOrder::exact ? 2 : 1) * std::ssize(buckets_.list());
}

int64_t GradientSums::bytes() const {
    int64_t n = floats_.bytes() + doubles_.bytes() + words_.bytes() + tops_.bytes();
    for (const Buffer<double>& arena : arenas_) n += arena.bytes();
    for (const Pieces& pieces : pieces_)
        n += pieces.top.bytes() + pieces.upper.bytes() + pieces.lower.bytes();
    return n;
}

}  // namespace surrogate::impl
