// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/sample_inputs.hpp"

#include <utility>

namespace surrogate::tool {

void SampleInputs::read(const dataset::ReadFile& file, const dataset::State& state,
                        const Change& change, const SampleDomain& domain, size_t sample) {
    const PointRange& range = domain.range(sample);
    for (size_t i = 0; i < channels_.size(); ++i) {
        const Channel& channel = channels_[i];
        if (channel.is_integer) {
            integers_[i] =
                domain.select(read_labels(file, channel.stored, state, change, range), sample);
        } else if (!channel.is_coordinate()) {
            real_[i] = read_range(file, channel.stored, state, change, range);
            if (!channel.is_per_sample) real_[i] = domain.select(std::move(real_[i]), sample);
        }
    }
}

void SampleInputs::append(const SampleInputs& more) {
    for (size_t i = 0; i < channels_.size(); ++i) {
        real_[i].insert(real_[i].end(), more.real_[i].begin(), more.real_[i].end());
        integers_[i].insert(integers_[i].end(), more.integers_[i].begin(), more.integers_[i].end());
    }
}

void SampleInputs::bind(Plan* plan, const SampleDomain& domain) {
    for (size_t i = 0; i < channels_.size(); ++i) {
        const Channel& channel = channels_[i];
        if (channel.is_integer)
            plan->bind_input(channel.name, column(integers_[i].data(), domain.n()));
        else if (!channel.is_coordinate())
            plan->bind_input(
                channel.name,
                column(real_[i].data(), channel.is_per_sample ? std::ssize(real_[i]) : domain.n()),
                channel.unit.c_str());
    }
}

}  // namespace surrogate::tool
