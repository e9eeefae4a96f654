// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/pair_loss.hpp"

#include <surrogate/surrogate_train.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "kernels/losses/pair_loss.hpp"
#include "libsurrogate/src/domain/canonical_order.hpp"

namespace surrogate::impl {

namespace losses = kernels::losses;

namespace {

/// Stream of the random pairs, in the words of a counter that follow the number of the draw.
constexpr uint64_t random_stream = uint64_t{6} << 32;
constexpr int64_t no_particle = SURROGATE_IGNORED_LABEL;

}  // namespace

PairLoss::PairLoss(const Recipe& recipe, const kernels::Queue& queue)
    : similarity_(recipe.similarity),
      queue_(queue),
      seed_(recipe.seed),
      random_(recipe.pair_random),
      made_(recipe.pair_radius, recipe.pair_neighbors, recipe.pair_random, queue) {}

void PairLoss::set_points(const PointDomain& points, std::array<int, 2> axes, bool has_order) {
    domain_ = &points;
    axes_ = axes;
    has_order_ = has_order || points.has_ids();
    require_axes();
}

void PairLoss::require_axes() const {
    const int last = std::max(axes_[0], axes_[1]);
    if (domain_->n_global() == 0 || domain_->n_axis() > last) return;
    throw Error(Status::not_supported,
                "loss=infonce makes pairs of neighbors in coordinates " + std::to_string(axes_[0]) +
                    " and " + std::to_string(axes_[1]) + ", and the points of the domain have " +
                    std::to_string(domain_->n_axis()) + ", expected more than " +
                    std::to_string(last));
}

void PairLoss::prepare(const Sample& sample, std::optional<int64_t> number) {
    if (has_changed(sample)) {
        const bool has_moved = revision_ != domain_->revision();
        revision_ = -1;
        if (has_moved || point_of_.size() != sample.n_point) order_points();
        take_labels(sample);
        allocate(sample.n_point);
        made_.list(points());
        n_positive_ = 0;
        for (int64_t u = 0; u < sample.n_point; ++u) n_positive_ += made_.listed().n_positive(u);
        revision_ = domain_->revision();
    }
    if (number && random_ > 0) {
        const auto key = static_cast<uint64_t>(seed_) ^ static_cast<uint64_t>(*number);
        made_.add_random(points(), Random(key, random_stream));
    }
    pairs_ = number && random_ > 0 ? made_.all() : made_.listed();
    std::fill(counts_.begin(), counts_.end(), int64_t{0});
    losses::count_positive(pairs_, labels(), {counts_.data(), static_cast<size_t>(counts_.size())});
}

bool PairLoss::has_changed(const Sample& sample) const {
    if (revision_ != domain_->revision() || ids_.size() != sample.n_point) return true;
    if (!std::equal(ids_.begin(), ids_.end(), sample.label)) return true;
    for (int64_t i = 0; i < sample.n_point; ++i)
        if ((has_weight_[i] != 0) != (sample.weight_of(i) > 0)) return true;
    return false;
}

/// Numbers the points and reads their coordinates.
void PairLoss::order_points() {
    const int64_t n = domain_->n_local();
    if (n > std::numeric_limits<int32_t>::max()) {
        throw Error(Status::limit, "loss=infonce: the sample has " + std::to_string(n) +
                                       " points, expected fewer than 2^31");
    }
    require_axes();
    std::vector<int64_t> order;
    if (has_order_) order = canonical_positions(*domain_, "loss=infonce", domain_->has_clouds());
    point_of_.resize(n);
    rows_.resize(n);
    for (int64_t i = 0; i < n; ++i)
        rows_[order.empty() ? i : order[static_cast<size_t>(i)]] = static_cast<int32_t>(i);
    const int64_t* const clouds = domain_->has_clouds() ? domain_->clouds() : nullptr;
    const auto cloud_of = [&](int64_t i) { return clouds ? static_cast<size_t>(clouds[i]) : 0; };
    cloud_begin_.assign(static_cast<size_t>(domain_->n_cloud()) + 1, 0);
    for (int64_t i = 0; i < n; ++i) ++cloud_begin_[cloud_of(i) + 1];
    std::partial_sum(cloud_begin_.begin(), cloud_begin_.end(), cloud_begin_.begin());
    next_ = cloud_begin_;
    for (int64_t k = 0; k < n; ++k) point_of_[next_[cloud_of(rows_[k])]++] = rows_[k];
    x_.resize(n);
    y_.resize(n);
    for (int64_t row = 0; row < n; ++row) {
        const int32_t point = point_of_[row];
        rows_[point] = static_cast<int32_t>(row);
        x_[row] = domain_->coordinate(axes_[0])[point];
        y_[row] = domain_->coordinate(axes_[1])[point];
    }
}

/// Groups the points by particle.
void PairLoss::take_labels(const Sample& sample) {
    const int64_t n = sample.n_point;
    ids_.resize(n);
    has_weight_.resize(n);
    for (int64_t i = 0; i < n; ++i) {
        ids_[i] = sample.label[i];
        has_weight_[i] = sample.weight_of(i) > 0 ? 1 : 0;
    }
    hits_.resize(n);
    particle_.resize(n);
    labels_.resize(n);
    std::iota(hits_.begin(), hits_.end(), 0);
    const auto id = [&](int32_t row) { return ids_[point_of_[row]]; };
    for (size_t c = 0; c + 1 < cloud_begin_.size(); ++c) {
        std::sort(hits_.begin() + cloud_begin_[c], hits_.begin() + cloud_begin_[c + 1],
                  [&](int32_t a, int32_t b) { return std::pair(id(a), a) < std::pair(id(b), b); });
    }
    particle_begin_.clear();
    particle_begin_.reserve(static_cast<size_t>(n) + 1);
    auto cloud = cloud_begin_.begin();
    for (int64_t k = 0; k < n; ++k) {
        const bool is_first_of_cloud = k >= *cloud;
        while (k >= *cloud) ++cloud;
        const int32_t row = hits_[k];
        if (is_first_of_cloud || id(row) == no_particle || id(row) != id(hits_[k - 1]))
            particle_begin_.push_back(k);
        particle_[row] = static_cast<int32_t>(particle_begin_.size()) - 1;
        const bool may_be_positive = id(row) != no_particle && has_weight_[point_of_[row]] != 0;
        labels_[row] = may_be_positive ? particle_[row] : -1;
    }
    counts_.resize(std::ssize(particle_begin_));
    particle_begin_.push_back(n);
}

PairPoints PairLoss::points() const {
    return {cloud_begin_,    span(x_),    span(y_),     span(particle_),
            particle_begin_, span(hits_), span(labels_)};
}

double PairLoss::value() const {
    if (n_positive_ > 0) return sum_;
    throw Error(Status::not_finite,
                "the InfoNCE loss of the sample is undefined: no particle has two points of weight "
                "1, expected at least one; leave the sample out");
}

double PairLoss::error(size_t) const {
    return std::numeric_limits<double>::quiet_NaN();
}

int64_t PairLoss::pair_bytes() const {
    return made_.bytes() + ids_.bytes() + has_weight_.bytes() + rows_.bytes() + point_of_.bytes() +
           x_.bytes() + y_.bytes() + particle_.bytes() + hits_.bytes() + labels_.bytes() +
           counts_.bytes() +
           8 * static_cast<int64_t>(cloud_begin_.capacity() + next_.capacity() +
                                    particle_begin_.capacity());
}

namespace {

/// The loss in single precision, or in double for backend ref.
template <class T>
class PairLossOf final : public PairLoss {
public:
    PairLossOf(const Recipe& recipe, std::span<const FieldCard> outputs,
               const kernels::Queue& queue)
        : PairLoss(recipe, queue) {
        for (const FieldCard& output : outputs) stds_.push_back(output.std);
    }

    SampleOutcome measure(Communicator&, const Sample& sample, int64_t,
                          SampleOutcome own) override {
        if (own != SampleOutcome::good) return own;
        const int64_t n = sample.n_point;
        const losses::Embedding<T> embedding = view(embedding_.data());
        queue_.parallel_for(n, [&](int64_t i, int) {
            for (int64_t c = 0; c < n_channel(); ++c)
                embedding(row(i), c) = static_cast<T>(sample.prediction[c * n + i]);
        });
        if (is_cosine()) losses::normalize<T>(queue_, embedding, view(unit_.data()));
        losses::pair_weights<T>(counts(), labels(), {weight_.data(), static_cast<size_t>(n)});
        shift_ = losses::bound_suffices(similarity_)
                     ? static_cast<T>(losses::similarity_bound(similarity_))
                     : losses::largest_similarity<T>(queue_, similarity_, compared(), pairs());
        losses::pair_sums<T>(queue_, similarity_, compared(), pairs(), shift_,
                             {weight_.data(), negative_.data(), slope_.data()}, losses_.data());
        sum_ = losses::sum_in_order(losses_.data(), n);
        return std::isfinite(sum_) ? SampleOutcome::good : SampleOutcome::not_finite;
    }

    void gradient(const Sample& sample, double* to) const override {
        const int64_t n = sample.n_point;
        const losses::Embedding<T> gradient = view(gradient_.data());
        std::fill(gradient_.begin(), gradient_.end(), T(0));
        losses::pair_gradient<T>(queue_, similarity_, compared(), pairs(), losses::PairSide::both,
                                 shift_, {weight_.data(), negative_.data(), slope_.data()},
                                 gradient);
        if (is_cosine())
            losses::normalize_backward<T>(queue_, view(embedding_.data()), view(unit_.data()),
                                          gradient, gradient);
        queue_.parallel_for(n, [&](int64_t i, int) {
            for (int64_t c = 0; c < n_channel(); ++c)
                to[c * n + i] =
                    static_cast<double>(gradient(row(i), c)) * stds_[static_cast<size_t>(c)];
        });
    }

    int64_t bytes() const override {
        return pair_bytes() + embedding_.bytes() + unit_.bytes() + gradient_.bytes() +
               weight_.bytes() + negative_.bytes() + slope_.bytes() + losses_.bytes();
    }

private:
    int64_t n_channel() const { return std::ssize(stds_); }
    int64_t stride() const { return kernels::round_up(n_channel(), kernels::lane_count); }
    bool is_cosine() const { return similarity_.likeness == losses::Likeness::cosine; }
    template <class U>
    losses::Embedding<U> view(U* data) const {
        return {data, {weight_.size(), n_channel()}, {stride(), 1}};
    }
    losses::Embedding<const T> compared() const {
        return view(is_cosine() ? unit_.data() : embedding_.data());
    }
    void allocate(int64_t n_point) override {
        embedding_.resize(n_point * stride());
        if (is_cosine()) unit_.resize(n_point * stride());
        gradient_.resize(n_point * stride());
        weight_.resize(n_point);
        negative_.resize(n_point);
        slope_.resize(n_point);
        losses_.resize(n_point);
    }

    std::vector<double> stds_;                      // (n_channel)
    kernels::Buffer<T> embedding_, unit_;           // (n_point, stride), by row
    mutable kernels::Buffer<T> gradient_;           // the same; scratch of gradient()
    kernels::Buffer<T> weight_, negative_, slope_;  // (n_point), see PairSums
    kernels::Buffer<double> losses_;                // (n_point)
    T shift_ = 0;
};

}  // namespace

std::unique_ptr<PairLoss> make_pair_loss(const Recipe& recipe, std::span<const FieldCard> outputs,
                                         const kernels::Queue& queue) {
    if (std::ssize(outputs) > losses::most_channels) {
        throw Error(Status::not_supported,
                    "loss=infonce: the model has " + std::to_string(outputs.size()) +
                        " outputs, expected at most " + std::to_string(losses::most_channels) +
                        " channels of an embedding");
    }
    if (queue.backend() == kernels::Backend::ref)
        return std::make_unique<PairLossOf<double>>(recipe, outputs, queue);
    return std::make_unique<PairLossOf<float>>(recipe, outputs, queue);
}

}  // namespace surrogate::impl
