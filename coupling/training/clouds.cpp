// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/clouds.hpp"

#include <algorithm>

#include "coupling/job/output.hpp"
#include "coupling/training/labels.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

namespace {

/// Checks that a target has a number for each of the n clouds of the input.
void check_target(const TrainData& data, const Pair& pair, const Channel& channel, int64_t n) {
    const dataset::ReadFile& file = data.file(pair.file);
    const int64_t n_row = file.box_of(channel.stored, pair.target).count();
    if (n_row == n) return;
    fail("'" + one_line(channel.stored, 60) + "' has " + std::to_string(n_row) +
         (n_row == 1 ? " number" : " numbers") + " for " +
         sample_text(data, pair.file, pair.target) + ", expected one for each of its " +
         std::to_string(n) + " clouds; add the axis 'cloud'");
}

void require_points(const TrainData& data, const Pair& pair, int64_t n) {
    const dataset::ReadFile& file = data.file(pair.file);
    std::vector<bool> has_point(static_cast<size_t>(n));
    for_each_part(file.n_point(pair.input.sample), [&](const PointRange& range) {
        for (const int64_t cloud : read_clouds(file, pair.input, {}, range))
            has_point[static_cast<size_t>(cloud)] = true;
    });
    const auto empty = std::find(has_point.begin(), has_point.end(), false);
    if (empty == has_point.end()) return;
    fail("cloud " + std::to_string(empty - has_point.begin()) + " of " +
         sample_text(data, pair.file, pair.input) + " has no points, and " + std::to_string(n) +
         " clouds have targets; number the clouds that have points from 0");
}

}  // namespace

void check_clouds(const Job& job, const TrainData& data, const ModelChannels& channels,
                  const std::vector<Pair>& pairs) {
    if (!data.has_clouds()) return;
    for_own_pairs(job, pairs, [&](const Pair& pair) {
        const int64_t n = data.file(pair.file).n_cloud(pair.input);
        if (!channels.is_pooled()) return;
        if (channels.labels)
            check_target(data, pair, *channels.labels, n);
        else
            for (const Channel& output : channels.outputs) check_target(data, pair, output, n);
        if (n > 1) require_points(data, pair, n);
    });
}

}  // namespace surrogate::tool
