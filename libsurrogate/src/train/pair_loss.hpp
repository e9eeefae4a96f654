// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/train/loss.hpp"
#include "libsurrogate/src/train/pairs.hpp"

namespace surrogate::impl {

/// InfoNCE over pairs of the points of a sample, which is on one rank: the outputs of the network
/// are the channels of an embedding, the labels are ids of particles. surrogate_train.h defines the
/// pairs and the loss; kernels/losses computes it.
class PairLoss : public Loss {
public:
    /// Sets the points of all samples, which must outlive this object, and the two coordinates in
    /// which points are neighbors. has_order: number the points in the canonical order even if they
    /// have no ids. Throws not_supported for too few coordinates.
    void set_points(const PointDomain& points, std::array<int, 2> axes, bool has_order);

    /// Makes the pairs of a sample from its labels and weights (0 or 1). The listed pairs of the
    /// last call are used again if nothing has changed; otherwise this allocates, and keeps memory
    /// for the largest sample.
    ///   number  of a sample to train on, which gets random pairs
    /// Collective over the ranks of the domain, of which there is one. Throws not_supported (too
    /// few coordinates), limit, the errors of canonical_positions, bad_alloc.
    void prepare(const Sample& sample, std::optional<int64_t> number);

    /// Returns the loss, which is undefined without positive pairs.
    double value() const override;
    /// Returns NaN: the channels of an embedding have no error.
    double error(size_t output) const override;

protected:
    PairLoss(const Recipe& recipe, const kernels::Queue& queue);

    /// Provides memory for a sample. Throws bad_alloc.
    virtual void allocate(int64_t n_point) = 0;

    /// Returns the row of each point in the pairs, (n_point).
    int32_t row(int64_t point) const { return rows_[point]; }
    const kernels::losses::PairRows& pairs() const { return pairs_; }
    std::span<const int32_t> labels() const { return span(labels_); }
    /// Returns the positive pairs of each label.
    std::span<const int64_t> counts() const { return span(counts_); }
    int64_t pair_bytes() const;

    kernels::losses::Similarity similarity_;
    kernels::Queue queue_;
    double sum_ = 0;  // loss of the last sample

private:
    template <class T>
    static std::span<const T> span(const kernels::Buffer<T>& buffer) {
        return {buffer.data(), static_cast<size_t>(buffer.size())};
    }
    bool has_changed(const Sample& sample) const;
    void require_axes() const;
    void order_points();
    void take_labels(const Sample& sample);
    PairPoints points() const;

    const PointDomain* domain_ = nullptr;
    std::array<int, 2> axes_{};
    bool has_order_ = false;
    int64_t seed_;
    double random_;
    Pairs made_;
    kernels::losses::PairRows pairs_;

    // The last sample. Rows are numbered by cloud, then by canonical order.
    int64_t revision_ = -1;                     // of the domain; -1: no pairs were made
    kernels::Buffer<int64_t> ids_;              // (n_point), as bound
    kernels::Buffer<uint8_t> has_weight_;       // (n_point)
    kernels::Buffer<int32_t> rows_, point_of_;  // (n_point), and the reverse
    std::vector<int64_t> cloud_begin_, next_;   // (n_cloud + 1)
    kernels::Buffer<double> x_, y_;             // (n_row)
    kernels::Buffer<int32_t> particle_, hits_, labels_;
    std::vector<int64_t> particle_begin_;
    kernels::Buffer<int64_t> counts_;  // (n_particle), positive pairs
    int64_t n_positive_ = 0;           // listed
};

/// Creates the loss of a recipe with loss=infonce. Throws not_supported for too many outputs.
std::unique_ptr<PairLoss> make_pair_loss(const Recipe& recipe, std::span<const FieldCard> outputs,
                                         const kernels::Queue& queue);

}  // namespace surrogate::impl
