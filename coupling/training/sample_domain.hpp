// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <surrogate/surrogate.hpp>
#include <tuple>
#include <vector>

#include "coupling/training/data.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

/// Holds the points of one sample of a data set, divided among the ranks of a group, and their
/// domain.
class SampleDomain {
public:
    /// `rank` of the `size` ranks of the group. is_weighted: the points of the domain have the
    /// weights of the data. The data must outlive the object.
    SampleDomain(const TrainData& data, int rank, int size, bool is_weighted)
        : data_(data), rank_(rank), size_(size), is_weighted_(is_weighted) {}

    /// Returns true if all unchanged pairs have the points of the domain.
    bool is_fixed() const;

    /// Returns true if a pair has other points than the domain.
    bool is_other(const Pair& pair, const Change& change = {}) const {
        return key_ != key_of(pair, change);
    }

    /// Reads this rank's points of a pair: range, coordinates, ids, clouds, weights of the domain;
    /// only the points that the change draws. Local. Throws Error.
    void read(const Pair& pair, const Change& change = {});

    /// Transforms the points that were read as the change says. Collective over the context of
    /// create(). Throws Error.
    void transform(const Context& context, const Change& change);

    /// Reads the weights of this rank's points in the loss of a pair whose points were read.
    /// Returns false if they are the same as at the last call. Local. Throws Error.
    bool read_weights(const Pair& pair, const Change& change = {});

    /// Creates the domain of the points that were read. Collective over the context. Throws Error.
    void create(const Context& context, const Pair& pair);

    /// Moves the domain to the points that were read; not on the sphere, whose points are fixed.
    /// Collective over the context of create(). Throws Error.
    void update();

    const Domain& domain() const { return *domain_; }
    /// Returns the range of points of the sample from which this rank reads.
    const PointRange& range() const { return range_; }
    /// Returns the number of points of this rank.
    int64_t n() const { return is_drawn_ ? std::ssize(drawn_) : range_.n; }
    /// Returns the number of clouds.
    int64_t n_clouds() const { return domain_->n_clouds(); }
    /// Returns the values of the points of this rank, from values of all points of the range.
    template <class T>
    std::vector<T> select(std::vector<T> values) const {
        if (!is_drawn_) return values;
        std::vector<T> selected;
        for (const int64_t point : drawn_) selected.push_back(values[static_cast<size_t>(point)]);
        return selected;
    }
    /// Returns the ids of this rank's points: their indices in the sample; empty on the sphere.
    const std::vector<int64_t>& ids() const { return ids_; }
    /// Returns the weights of this rank's points in the data, or areas on the sphere; empty for
    /// equal weights. After read_weights().
    const std::vector<double>& weights() const { return weights_; }

private:
    /// File, sample, time, number and key of the drawn points, key of their transform.
    using Key = std::tuple<size_t, int64_t, int64_t, int64_t, uint64_t, uint64_t>;
    Key key_of(const Pair& pair, const Change& change) const;
    surrogate_points points() const;
    /// Points, and file, sample, time and symmetry of their weights.
    using WeightsKey = std::tuple<Key, size_t, int64_t, int64_t, int, int64_t>;

    const TrainData& data_;
    int rank_, size_;
    bool is_weighted_;
    std::optional<Key> key_;  ///< of the points of the domain
    Key read_key_;            ///< of the points that were read
    std::optional<WeightsKey> weights_key_;
    PointRange range_;
    bool is_drawn_ = false;
    std::vector<int64_t> drawn_;  ///< indices in the range, if is_drawn_
    std::vector<double> points_, weights_;
    std::vector<double> domain_weights_;  ///< if is_weighted_
    std::array<double, 6> box_{};  ///< of all points of the range: upper ends, minus lower ends
    std::vector<int64_t> ids_, clouds_;  ///< clouds: empty for data without clouds
    std::optional<Domain> domain_;
};

}  // namespace surrogate::tool
