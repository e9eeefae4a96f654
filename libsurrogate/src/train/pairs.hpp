// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/losses/pair_rows.hpp"
#include "libsurrogate/src/core/random.hpp"
#include "libsurrogate/src/train/plane_tree.hpp"

namespace surrogate::impl {

/// Points whose pairs are made, cloud by cloud: n points, fewer than 2^31, of n_particle particles.
/// A point of no particle is a particle of its own.
struct PairPoints {
    std::span<const int64_t> cloud_begin;     ///< (n_cloud + 1), ascending from 0
    std::span<const double> x, y;             ///< (n), finite
    std::span<const int32_t> particle;        ///< (n)
    std::span<const int64_t> particle_begin;  ///< (n_particle + 1), ascending from 0
    std::span<const int32_t> hit;             ///< (n), points by particle, ascending in each
    std::span<const int32_t> label;           ///< (n), the particle; -1: never in a positive pair

    int64_t n() const { return std::ssize(particle); }
    int64_t n_cloud() const { return std::ssize(cloud_begin) - 1; }
    int64_t n_particle() const { return std::ssize(particle_begin) - 1; }
    std::span<const int32_t> hits(int32_t of) const {
        const auto p = static_cast<size_t>(of);
        return hit.subspan(static_cast<size_t>(particle_begin[p]),
                           static_cast<size_t>(particle_begin[p + 1] - particle_begin[p]));
    }
    /// Returns true if a pair can change the loss: one of its points has a label.
    bool counts(int32_t u, int32_t v) const { return label_of(u) >= 0 || label_of(v) >= 0; }
    bool is_positive(int32_t u, int32_t v) const {
        return label_of(u) >= 0 && label_of(u) == label_of(v);
    }
    int32_t label_of(int32_t point) const { return label[static_cast<size_t>(point)]; }
};

/// Pairs of points for the InfoNCE loss, which `infonce` in surrogate_train.h defines. Pairs of
/// which neither point has a label are left out: they change neither loss nor gradient. Memory is
/// kept, and grows only for more points or pairs than ever before. Results do not depend on the
/// number of threads. Local.
class Pairs {
public:
    /// Sets the rule of neighbors. random: random pairs as a fraction of the listed ones.
    Pairs(double radius, int64_t n_neighbor, double random, const kernels::Queue& queue)
        : radius_(radius), most_neighbors_(n_neighbor), random_(random), queue_(queue) {}

    /// Makes the listed pairs. Throws bad_alloc; then there are none.
    void list(const PairPoints& points);
    /// Adds random pairs, others for each generator, to the listed pairs of the same points. A pair
    /// that is listed already then counts twice. Throws bad_alloc; the listed pairs stay.
    void add_random(const PairPoints& points, const Random& random);

    /// Returns the listed pairs; symmetric.
    kernels::losses::PairRows listed() const { return listed_.rows(); }
    /// Returns the pairs of the last add_random(); symmetric.
    kernels::losses::PairRows all() const { return all_.rows(); }

    int64_t bytes() const;

private:
    struct Rows {
        kernels::Buffer<int64_t> offset, positive;
        kernels::Buffer<int32_t> point;
        void resize(int64_t n_row) {
            positive.resize(0);
            offset.resize(n_row + 1);
            positive.resize(n_row);
        }
        void add_up();
        kernels::losses::PairRows rows() const {
            return {positive.size(), offset.data(), positive.data(), point.data()};
        }
        int64_t bytes() const { return offset.bytes() + positive.bytes() + point.bytes(); }
    };

    void find_neighbors(const PairPoints& points);
    void reverse_neighbors(int64_t n_point);
    template <class Use>
    void for_each_neighbor(int32_t point, const Use& use) const;
    template <class Use>
    void for_each_row(const PairPoints& points, const Use& use);
    void count_random(const PairPoints& points);
    void draw(const PairPoints& points, const Random& random);
    void group_drawn(const PairPoints& points);

    double radius_;
    int64_t most_neighbors_;
    double random_;
    kernels::Queue queue_;

    PlaneTree tree_;
    kernels::Buffer<PlaneTree::Neighbor> found_;  // (n_thread, 2 n_slot)
    int64_t n_slot_ = 0;                          // neighbors for which a point has memory
    kernels::Buffer<int32_t> neighbor_, n_near_;  // (n, n_slot) the nearest; (n) their number
    kernels::Buffer<int64_t> reverse_begin_;      // (n + 2)
    kernels::Buffer<int32_t> reverse_;            // points of which a point is a neighbor
    kernels::Buffer<uint64_t> marks_;             // (n_thread, 2, words of the largest cloud)
    kernels::Buffer<int32_t> last_;               // (n_thread, n_particle): last row with its hits
    kernels::Buffer<int64_t> n_listed_;           // (n), with the pairs that are left out
    kernels::Buffer<int64_t> random_begin_;       // (n_cloud + 1)
    kernels::Buffer<int32_t> ends_;               // (random pairs, 2)
    Rows listed_, drawn_, all_;
};

}  // namespace surrogate::impl
