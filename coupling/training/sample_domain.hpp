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

/// A sample of a step.
struct Draw {
    const Pair* pair = nullptr;
    Change change = {};
    int64_t n_own = 0;  ///< > 0: the input is a prediction, n_own leads after the true state
};

/// Holds the points of one sample of a data set, divided among the ranks of a group, and their
/// domain; or the points of several samples on one rank, each of which is a cloud of the domain.
class SampleDomain {
public:
    /// Keeps references: the data must outlive the object. `rank` of the `size` ranks of the group.
    /// is_weighted: the points of the domain have the weights of the data. has_several: read() may
    /// get several samples, without clouds of their own.
    SampleDomain(const TrainData& data, int rank, int size, bool is_weighted,
                 bool has_several = false)
        : data_(data),
          rank_(rank),
          size_(size),
          is_weighted_(is_weighted),
          has_clouds_(has_several || data.has_clouds()) {}

    /// Returns true if all unchanged pairs have the points of the domain.
    bool is_fixed() const;

    /// Returns true if samples have other points than the domain.
    bool is_other(const std::vector<Draw>& draws) const { return keys_ != keys_of(draws); }

    /// Reads this rank's points of samples: ranges, coordinates, ids, clouds, weights of the
    /// domain; only the points that their changes draw. Local. Throws Error.
    void read(const std::vector<Draw>& draws);
    void read(const Pair& pair) { read(std::vector<Draw>{Draw{&pair}}); }

    /// Transforms the points that were read as the changes say. Collective over the context of
    /// create(). Throws Error.
    void transform(const Context& context, const std::vector<Draw>& draws);

    /// Reads the weights of this rank's points in the loss of samples whose points were read.
    /// Returns false if they are the same as at the last call. Local. Throws Error.
    bool read_weights(const std::vector<Draw>& draws);

    /// Creates the domain of the points that were read. Collective over the context. Throws Error.
    void create(const Context& context, const Pair& pair);

    /// Moves the domain to the points that were read; not on the sphere, whose points are fixed.
    /// Collective over the context of create(). Throws Error.
    void update();

    const Domain& domain() const { return *domain_; }
    /// Returns the range of points of a sample from which this rank reads.
    const PointRange& range(size_t sample = 0) const { return parts_[sample].range; }
    /// Returns the number of points of this rank.
    int64_t n() const {
        int64_t n = 0;
        for (const Part& part : parts_) n += part.n();
        return n;
    }
    /// Returns the number of clouds.
    int64_t n_clouds() const { return domain_->n_clouds(); }
    /// Returns the values of the points of this rank, from values of all points of the range of a
    /// sample.
    template <class T>
    std::vector<T> select(std::vector<T> values, size_t sample = 0) const {
        const Part& part = parts_[sample];
        if (!part.is_drawn) return values;
        std::vector<T> selected;
        for (const int64_t point : part.drawn)
            selected.push_back(values[static_cast<size_t>(point)]);
        return selected;
    }
    /// Returns the ids of this rank's points: their indices in the sample; empty on the sphere.
    const std::vector<int64_t>& ids() const { return parts_[0].ids; }
    /// Returns the weights of this rank's points in the data, or areas on the sphere; empty for
    /// equal weights. After read_weights().
    const std::vector<double>& weights() const { return weights_; }

private:
    /// File, sample, time, number and key of the drawn points, key of their transform.
    using Key = std::tuple<size_t, int64_t, int64_t, int64_t, uint64_t, uint64_t>;
    /// A sample, or this rank's part of it.
    struct Part {
        PointRange range;
        bool is_drawn = false;
        std::vector<int64_t> drawn;           ///< indices in the range, if is_drawn
        std::vector<double> points, weights;  ///< weights: of the domain
        std::vector<int64_t> ids, clouds;     ///< clouds: of data with clouds
        std::array<double, 6> box{};  ///< of all points of the range: upper ends, minus lower ends
        int64_t n() const { return is_drawn ? std::ssize(drawn) : range.n; }
    };
    Key key_of(const Draw& draw) const;
    std::vector<Key> keys_of(const std::vector<Draw>& draws) const;
    void read_part(const Draw& draw);
    surrogate_points points();
    void join_parts();
    /// Points, and file, sample, time and symmetry of their weights.
    using WeightsKey = std::tuple<Key, size_t, int64_t, int64_t, int, int64_t>;

    const TrainData& data_;
    int rank_, size_;
    bool is_weighted_, has_clouds_;
    std::vector<Key> keys_;       ///< of the points of the domain
    std::vector<Key> read_keys_;  ///< of the points that were read
    std::vector<WeightsKey> weights_keys_;
    std::vector<Part> parts_;      ///< by sample
    std::vector<double> weights_;  ///< in the loss
    Part all_;                     ///< points of several samples together, for the domain
    std::optional<Domain> domain_;
};

}  // namespace surrogate::tool
