// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

namespace {

constexpr size_t round_words = size_t{1} << 20;  // 8 MB for one sum over the ranks
constexpr double largest_number = 1e140;  // sums of 10^27 squares stay below the largest double
constexpr double least_std = 1e-8;        // as the official normalizer adds (spec of FLARE)

/// A part of a pair's points that one rank reads at a time.
struct Part {
    size_t pair;
    PointRange range;
};

std::vector<Part> parts_of(const TrainData& data) {
    std::vector<Part> parts;
    for (size_t pair = 0; pair < data.training().size(); ++pair) {
        const Pair& one = data.training()[pair];
        for_each_part(data.file(one.file).n_point(one.input.sample), [&](const PointRange& range) {
            parts.push_back({pair, range});
        });
    }
    return parts;
}

/// Throws for values whose squares would overflow in sums.
void check_size(const std::vector<double>& values, const std::string& name,
                const dataset::ReadFile& file, const dataset::State& state) {
    for (const double value : values)
        if (!(std::abs(value) <= largest_number))
            throw Failure(Exit::bad_usage,
                          "data set '" + file.path() + "': '" + one_line(name, 60) +
                              "' of sample " + std::to_string(state.sample) + " has the value " +
                              number(value) + ", expected magnitudes up to " +
                              number(largest_number) + ": means and deviations would overflow");
}

/// Statistics of one part for one channel, as sent between ranks.
struct Record {
    static constexpr size_t n_word = 8;
    Moments plain, weighted;
    double min = std::numeric_limits<double>::infinity(), max = -min;

    /// Points of weight 0 are excluded from targets.
    static Record of(const std::vector<double>& values, const std::vector<double>& weights,
                     bool is_target) {
        Record record{{}, Moments::of(values, weights)};
        std::vector<double> counted;
        for (size_t i = 0; i < values.size(); ++i) {
            if (is_target && !weights.empty() && weights[i] == 0) continue;
            counted.push_back(values[i]);
            record.min = std::min(record.min, values[i]);
            record.max = std::max(record.max, values[i]);
        }
        record.plain = Moments::of(counted, {});
        return record;
    }
    void put(double* words) const {
        const double all[n_word] = {plain.weight,  plain.mean,      plain.square, weighted.weight,
                                    weighted.mean, weighted.square, min,          max};
        std::copy(all, all + n_word, words);
    }
    static Record from(const double* w) {
        return {{w[0], w[1], w[2]}, {w[3], w[4], w[5]}, w[6], w[7]};
    }
};

/// Reads channels: inputs, outputs, and changes of outputs that are also inputs.
class Survey {
public:
    Survey(const TrainData& data, const std::vector<Channel>& inputs,
           const std::vector<Channel>& outputs)
        : data_(data), inputs_(inputs), outputs_(outputs) {
        for (const Channel& output : outputs)
            for (const Channel& input : inputs)
                if (data.form().is_series && input.stored == output.stored) ++n_increment_;
        if (n_increment_ != outputs.size()) n_increment_ = 0;
    }

    size_t n_channel() const { return inputs_.size() + outputs_.size() + n_increment_; }

    /// Writes the records of a part, one channel after the other. Local.
    void read(const Part& part, double* words) const {
        const Pair& pair = data_.training()[part.pair];
        const dataset::ReadFile& file = data_.file(pair.file);
        const auto weights = read_weights(file, pair.target, {}, part.range);
        check_size(weights, "weight", file, pair.target);
        const auto put = [&](const Channel& channel, const std::vector<double>& values,
                             bool is_target) {
            const bool is_weighted = !channel.is_per_sample && !values.empty();
            Record::of(values, is_weighted ? weights : std::vector<double>(), is_target).put(words);
            words += Record::n_word;
        };
        const auto field = [&](const Channel& channel, const dataset::State& state) {
            // The first part of a sample has the numbers of sample and clouds.
            if (channel.is_per_sample && part.range.first > 0) return std::vector<double>();
            if (channel.is_integer) return std::vector<double>();  // no statistics
            auto values = channel.is_coordinate()
                              ? read_coordinate(file, channel.axis, state, part.range)
                              : read_range(file, channel.stored, state, {}, part.range);
            check_size(values, channel.stored, file, state);
            return values;
        };
        for (const Channel& input : inputs_) put(input, field(input, pair.input), false);
        for (const Channel& output : outputs_) put(output, field(output, pair.target), true);
        if (n_increment_ == 0) return;
        for (const Channel& output : outputs_) {
            auto change = field(output, pair.target);
            const auto before = field(output, pair.input);
            for (size_t i = 0; i < change.size(); ++i) change[i] -= before[i];
            put(output, change, true);
        }
    }

private:
    const TrainData& data_;
    const std::vector<Channel>&inputs_, &outputs_;
    size_t n_increment_ = 0;
};

/// Combines the parts of one channel, in their order.
struct Gathered {
    Moments all, weighted, sample;
    size_t pair = 0;
    ChannelStatistics found;

    void end_sample() {
        if (sample.weight == 0) return;
        found.sample_mean.push_back(sample.mean);
        found.sample_deviation.push_back(sample.deviation());
        weighted.add(sample);
        sample = {};
    }
    void add(const Part& part, const Record& record) {
        if (part.pair != pair) end_sample();
        pair = part.pair;
        all.add(record.plain);
        sample.add(record.weighted);
        found.min = std::min(found.min, record.min);
        found.max = std::max(found.max, record.max);
    }
    ChannelStatistics finish() {
        end_sample();
        found.mean = all.mean;
        const double variance = all.weight > 1 ? all.square / (all.weight - 1) : 0;
        found.std = std::sqrt(variance) + least_std;
        if (variance == 0) found.std = 1;  // a constant does not define a scale
        return found;
    }
};

DataStatistics sorted(std::vector<Gathered>& channels, size_t n_input, size_t n_output) {
    DataStatistics found;
    for (size_t i = 0; i < channels.size(); ++i) {
        const ChannelStatistics one = channels[i].finish();
        if (i < n_input)
            found.inputs.push_back(one);
        else if (i < n_input + n_output)
            found.outputs.push_back(one);
        else
            found.increments.push_back(
                std::hypot(channels[i].weighted.deviation(), channels[i].weighted.mean));
    }
    return found;
}

bool is_zero(const dataset::ReadFile& file, const std::string& field, const dataset::State& state) {
    constexpr int64_t first_points = 1024;
    if (file.is_per_sample(field)) {
        const auto numbers = read_range(file, field, state, {}, {});
        return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == 0; });
    }
    const int64_t n_point = file.n_point(state.sample);
    for (int64_t first = 0, n = first_points; first < n_point; first += n, n = part_points) {
        const PointRange range = {first, std::min(n, n_point - first)};
        const auto values = read_range(file, field, state, {}, range);
        std::vector<double> weights;
        if (file.form().has_weight) weights = read_weights(file, state, {}, range);
        for (size_t i = 0; i < values.size(); ++i)
            if (values[i] != 0 && (weights.empty() || weights[i] > 0)) return false;
    }
    return true;
}

}  // namespace

void Moments::add(const Moments& more) {
    if (more.weight == 0) return;
    const double sum = weight + more.weight, step = more.mean - mean;
    mean += step * (more.weight / sum);
    square += more.square + step * step * (weight * more.weight / sum);
    weight = sum;
}

double Moments::deviation() const {
    return weight > 0 ? std::sqrt(square / weight) : 0;
}

Moments Moments::of(const std::vector<double>& values, const std::vector<double>& weights) {
    Moments moments;
    const auto weight = [&](size_t i) { return weights.empty() ? 1.0 : weights[i]; };
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        moments.weight += weight(i);
        sum += weight(i) * values[i];
    }
    if (moments.weight == 0) return {};
    moments.mean = sum / moments.weight;
    for (size_t i = 0; i < values.size(); ++i) {
        const double step = values[i] - moments.mean;
        moments.square += weight(i) * step * step;
    }
    return moments;
}

DataStatistics read_statistics(const Job& job, const Context& context, const TrainData& data,
                               const std::vector<Channel>& inputs,
                               const std::vector<Channel>& outputs) {
    const Survey survey(data, inputs, outputs);
    const std::vector<Part> parts = parts_of(data);
    const size_t stride = survey.n_channel() * Record::n_word;
    const size_t round = std::max<size_t>(1, round_words / stride);
    const auto n_rank = static_cast<size_t>(job.size()), rank = static_cast<size_t>(job.rank());
    std::vector<Gathered> channels(survey.n_channel());
    for (size_t begin = 0; begin < parts.size(); begin += round) {
        const size_t end = std::min(parts.size(), begin + round);
        // All other ranks add zeros, so the sum has the words of the rank that has read the part.
        std::vector<double> words((end - begin) * stride);
        job.agree([&] {
            for (size_t i = begin; i < end; ++i)
                if (i % n_rank == rank) survey.read(parts[i], &words[(i - begin) * stride]);
        });
        context.reduce(SURROGATE_SUM, static_cast<int64_t>(words.size()), words.data());
        for (size_t i = begin; i < end; ++i)
            for (size_t c = 0; c < channels.size(); ++c)
                channels[c].add(parts[i],
                                Record::from(&words[(i - begin) * stride + c * Record::n_word]));
    }
    return sorted(channels, inputs.size(), outputs.size());
}

std::vector<bool> find_zero_targets(const Job& job, const Context& context, const TrainData& data,
                                    const std::vector<Pair>& pairs,
                                    const std::vector<Channel>& outputs) {
    const size_t n_rank = static_cast<size_t>(job.size()), rank = static_cast<size_t>(job.rank());
    std::vector<double> found(pairs.size() * outputs.size());
    job.agree([&] {
        for (size_t p = rank; p < pairs.size(); p += n_rank)
            for (size_t o = 0; o < outputs.size(); ++o)
                if (is_zero(data.file(pairs[p].file), outputs[o].stored, pairs[p].target))
                    found[p * outputs.size() + o] = 1;
    });
    context.reduce(SURROGATE_SUM, static_cast<int64_t>(found.size()), found.data());
    return {found.begin(), found.end()};
}

}  // namespace surrogate::tool
