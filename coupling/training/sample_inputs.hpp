// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/training/sample_domain.hpp"

namespace surrogate::tool {

/// Holds the inputs of a model at this rank's points of a sample. Local.
class SampleInputs {
public:
    /// Keeps references: the channels must outlive the object.
    explicit SampleInputs(const std::vector<Channel>& channels)
        : channels_(channels), real_(channels.size()), integers_(channels.size()) {}

    /// Reads a state at the points of a sample of a domain. Throws Error.
    void read(const dataset::ReadFile& file, const dataset::State& state, const Change& change,
              const SampleDomain& domain, size_t sample = 0);
    /// Replaces the inputs by the inputs of a sample.
    void take(SampleInputs& other) {
        real_.swap(other.real_);
        integers_.swap(other.integers_);
    }
    /// Appends the inputs of another sample.
    void append(const SampleInputs& more);
    /// Binds the inputs, except coordinates, which come from the domain. Throws Error.
    void bind(Plan* plan, const SampleDomain& domain);

    /// Returns the real numbers by channel, one or one per cloud for a channel per sample; empty
    /// for coordinates and integers.
    std::vector<std::vector<double>>& real() { return real_; }

private:
    const std::vector<Channel>& channels_;
    std::vector<std::vector<double>> real_;
    std::vector<std::vector<int64_t>> integers_;
};

}  // namespace surrogate::tool
