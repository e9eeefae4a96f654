// SPDX-License-Identifier: Apache-2.0
// Gradients of weights on their way over ranks, bucket by bucket.
#include <algorithm>
#include <utility>

#include "libsurrogate/src/layers/gradient_sums.hpp"

namespace surrogate::impl {

using Place = GradientBuckets::Place;

namespace {

/// Infinity beyond the range of floats, which a host may trap when a conversion finds it.
float to_float(double value) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (std::isgreater(std::abs(value), double{std::numeric_limits<float>::max()}))
        return value > 0 ? infinity : -infinity;
    return static_cast<float>(value);
}

/// Lives as long as the program.
template <class T>
void give_up(kernels::Buffer<T>& buffer) {
    if (buffer.size() > 0) new kernels::Buffer<T>(std::move(buffer));
}

}  // namespace

GradientSums::~GradientSums() {
    for (const Travel& travel : travels_) is_lost_ = is_lost_ || travel.is_under_way;
    if (!is_lost_) return;
    give_up(floats_);
    give_up(doubles_);
    give_up(words_);
    give_up(tops_);
}

void GradientSums::reserve(Communicator& comm) const {
    const int64_t n_piece = order_ == GradientOrder::exact ? 2 : 1;
    comm.reserve_reductions(n_piece * std::ssize(buckets_.list()),
                            std::max(n_piece * buckets_.largest(), tops_.size()));
}

/// Begins the reductions of the completed buckets. The last bucket is sent by reduce(), so errors
/// before that call are included in it.
void GradientSums::finish_stage() {
    if (!comm_) return;
    ++stage_;
    const std::vector<Bucket>& list = buckets_.list();
    while (n_begun_ + 1 < list.size() && list[n_begun_].stage < stage_) send_next();
}

bool GradientSums::reduce(Communicator& comm) {
    comm_ = &comm;
    while (n_begun_ < travels_.size()) send_next();
    bool is_good = !is_poisoned_;
    if (order_ == GradientOrder::exact) send_pieces(travels_.size() - 1);
    for (size_t b = 0; b < travels_.size(); ++b) {
        const bool is_exact = order_ == GradientOrder::exact;
        const bool is_finite = is_exact ? receive_pieces(b) : receive_floats(b);
        is_good = is_finite && is_good;
    }
    comm_ = nullptr;
    stage_ = 0;
    n_begun_ = 0;
    return is_good;
}

/// Begins the reduction of the next bucket. Calls are made in the order of the buckets, regardless
/// of when they are complete: the tops of a bucket are sent after the pieces of the previous one.
void GradientSums::send_next() {
    const size_t b = n_begun_;
    join_threads(buckets_.list()[b]);
    if (order_ != GradientOrder::exact) {
        if (travels()) send_floats(b);
    } else {
        if (b > 0) send_pieces(b - 1);
        send_tops(b);
    }
    ++n_begun_;
}

void GradientSums::send_floats(size_t b) {
    const Bucket& bucket = buckets_.list()[b];
    const auto pack = [&](auto* to, const auto& convert) {
        for (const Place& place : buckets_.places(bucket)) {
            const MasterWeights::Entry& entry = entry_of(place);
            const double* const from = arenas_[0].data() + entry.first;
            std::transform(from, from + entry.size, to + place.packed, convert);
        }
        using Number = std::remove_reference_t<decltype(*to)>;
        constexpr Number nan = std::numeric_limits<Number>::quiet_NaN();
        if (is_poisoned_) std::fill_n(to + bucket.begin, bucket.size, nan);
        const std::span numbers(to + bucket.begin, static_cast<size_t>(bucket.size));
        travels_[b].is_under_way = true;
        travels_[b].begun = comm_->begin_reduce_sum(numbers);
    };
    if (order_ == GradientOrder::single) {
        pack(floats_.data(), to_float);
    } else {
        pack(doubles_.data(), [](double value) { return value; });
    }
}

bool GradientSums::receive_floats(size_t b) {
    if (travels_[b].is_under_way) comm_->finish_reduction(travels_[b].begun);
    bool is_finite = true;
    for (const Place& place : buckets_.places(buckets_.list()[b])) {
        const MasterWeights::Entry& entry = entry_of(place);
        double* const to = arenas_[0].data() + entry.first;
        if (travels_[b].is_under_way && order_ == GradientOrder::single)
            std::copy_n(floats_.data() + place.packed, entry.size, to);
        if (travels_[b].is_under_way && order_ == GradientOrder::real)
            std::copy_n(doubles_.data() + place.packed, entry.size, to);
        for (int64_t i = 0; i < entry.size; ++i) is_finite &= std::isfinite(to[i]);
    }
    travels_[b].is_under_way = false;
    return is_finite;
}

std::span<int64_t> GradientSums::tops_of(size_t b) {
    const Bucket& bucket = buckets_.list()[b];
    return {tops_.data() + bucket.first + b, bucket.end - bucket.first + 1};
}

/// Begins the reduction of the maxima of bucket b. Maxima do not carry NaN, so a flag is sent after
/// them.
void GradientSums::send_tops(size_t b) {
    const std::span<int64_t> tops = tops_of(b);
    auto to = tops.begin();
    for (const Place& place : buckets_.places(buckets_.list()[b]))
        *to++ = pieces_[0].top[place.tensor];
    *to = is_poisoned_ ? 1 : 0;
    travels_[b].is_under_way = true;
    travels_[b].begun = comm_->begin_reduce_max(tops);
}

/// All ranks cut alike. If one of them is bad they send zeros, for the sequence of calls is fixed.
void GradientSums::send_pieces(size_t b) {
    const Bucket& bucket = buckets_.list()[b];
    comm_->finish_reduction(travels_[b].begun);
    travels_[b].is_under_way = false;
    const std::span<int64_t> tops = tops_of(b);
    int64_t* const upper = words_.data() + 2 * bucket.begin;
    std::fill_n(upper, 2 * bucket.size, int64_t{0});
    auto top = tops.begin();
    for (const Place& place : buckets_.places(bucket)) {
        const MasterWeights::Entry& entry = entry_of(place);
        if (tops.back() != 0) break;
        raise(pieces_[0], static_cast<size_t>(place.tensor), *top++);
        int64_t* const to = upper + place.packed - bucket.begin;
        std::copy_n(pieces_[0].upper.data() + entry.first, entry.size, to);
        std::copy_n(pieces_[0].lower.data() + entry.first, entry.size, to + bucket.size);
    }
    const std::span pieces(upper, static_cast<size_t>(2 * bucket.size));
    travels_[b].is_under_way = true;
    travels_[b].begun = comm_->begin_reduce_sum(pieces);
}

bool GradientSums::receive_pieces(size_t b) {
    const Bucket& bucket = buckets_.list()[b];
    comm_->finish_reduction(travels_[b].begun);
    travels_[b].is_under_way = false;
    if (tops_of(b).back() != 0) return false;
    for (const Place& place : buckets_.places(bucket)) {
        const MasterWeights::Entry& entry = entry_of(place);
        double* const to = arenas_[0].data() + entry.first;
        const int64_t top = pieces_[0].top[place.tensor];
        if (top == no_top) {
            std::fill_n(to, entry.size, 0.0);
            continue;
        }
        const double high = unit(top), low = unit(top - 1);
        const int64_t* const upper = words_.data() + bucket.begin + place.packed;
        const int64_t* const lower = upper + bucket.size;
        for (int64_t i = 0; i < entry.size; ++i)
            to[i] = static_cast<double>(upper[i]) * high + static_cast<double>(lower[i]) * low;
    }
    return true;
}

}  // namespace surrogate::impl
