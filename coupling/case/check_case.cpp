// SPDX-License-Identifier: Apache-2.0
#include "coupling/case/check_case.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>

#include "coupling/case/case_share.hpp"

namespace surrogate::tool {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// ---- running ----

Options plan_options(const CheckSettings& settings) {
    Options options{{"reproducible", settings.is_reproducible ? "true" : "false"},
                    {"coordinates", "normalized"},
                    {"allow_code", settings.allows_code ? "true" : "false"}};
    if (!settings.backend.empty()) options.set("backend", settings.backend);
    if (!settings.precision.empty()) options.set("precision", settings.precision);
    if (!settings.threads.empty()) options.set("threads", settings.threads);
    if (!settings.vector.empty()) options.set("vector", settings.vector);
    return options;
}

/// Rows of a tensor on this rank.
struct Rows {
    std::vector<int64_t> numbers;  ///< in a sample
    bool is_planar = false;        ///< channel by channel, as solvers on the sphere store them
    bool is_everywhere = false;    ///< every rank has all rows
    int64_t n() const { return static_cast<int64_t>(numbers.size()); }
};

template <class T>
Rows rows_of(const CaseTensor<T>& tensor, const std::vector<Share>& shares) {
    if (tensor.place == SURROGATE_ON_CLOUDS || tensor.place == SURROGATE_ON_NODES) {
        Rows rows{std::vector<int64_t>(static_cast<size_t>(tensor.n_row)), false, true};
        std::iota(rows.numbers.begin(), rows.numbers.end(), 0);
        return rows;
    }
    const Share& share = tensor.place == SURROGATE_ON_OUTPUT ? shares.back() : shares.front();
    return {share.points, share.is_sphere, false};
}

surrogate_array array_of(std::vector<int64_t>& values, int64_t n, int64_t n_column) {
    return {values.data(), {n, n_column}, {n_column, 1}, SURROGATE_INT64, SURROGATE_HOST};
}
template <class T>
surrogate_array array_of(std::vector<T>& values, int64_t n, int64_t n_column) {
    return matrix(values.data(), n, n_column);
}

/// Values of one tensor in this rank's rows. Scattered points have the layout (n_local, n_channel),
/// grids (n_channel, n_local), as solvers of these kinds store them.
template <class T>
class Field {
public:
    template <class Tensor>
    Field(const Tensor& tensor, const std::vector<Share>& shares)
        : rows_(rows_of(tensor, shares)), name_(tensor.name), n_channel_(tensor.n_channel) {
        values_.resize(static_cast<size_t>(rows_.n() * n_channel_));
        if (rows_.is_planar)
            stride_ = {1, rows_.n()};
        else
            stride_ = {n_channel_, 1};
    }

    T& at(int64_t row, int64_t channel) {
        return values_[static_cast<size_t>(row * stride_.row + channel * stride_.channel)];
    }

    template <class From>
    void take(const CaseTensor<From>& tensor, int64_t sample) {
        const TensorLayout& l = tensor.layout;
        for (int64_t i = 0; i < rows_.n(); ++i)
            for (int64_t c = 0; c < n_channel_; ++c)
                at(i, c) = static_cast<T>(
                    tensor.data[sample * l.sample +
                                rows_.numbers[static_cast<size_t>(i)] * l.point + c * l.channel]);
    }

    surrogate_named_array array() {
        surrogate_array a = array_of(values_, rows_.n(), n_channel_);
        a.stride[0] = stride_.row;
        a.stride[1] = stride_.channel;
        return {name_.c_str(), a};
    }

    /// Gathers the sample and writes it to its position in `y` on rank 0.
    void gather(const Job& job, const TensorLayout& layout, int64_t sample,
                std::vector<double>& y) {
        const bool has_none = rows_.is_everywhere && !job.is_root();
        const std::vector<int64_t> given = has_none ? std::vector<int64_t>() : rows_.numbers;
        std::vector<T> mine;  // (rows, n_channel)
        for (size_t i = 0; i < given.size(); ++i)
            for (int64_t c = 0; c < n_channel_; ++c) mine.push_back(at(static_cast<int64_t>(i), c));
        const auto rows = job.gather(given);
        const auto values = job.gather(mine);
        auto next = values.begin();
        for (const int64_t row : rows)
            for (int64_t c = 0; c < n_channel_; ++c)
                y[static_cast<size_t>(sample * layout.sample + row * layout.point +
                                      c * layout.channel)] = *next++;
    }

private:
    struct Stride {
        int64_t row, channel;
    };
    Rows rows_;
    std::string name_;
    int64_t n_channel_;
    Stride stride_{};
    std::vector<T> values_;
};

/// Evaluates this rank's part of one sample.
template <class T>
class Sample {
public:
    Sample(const CaseTensors& tensors, const std::vector<Share>& shares)
        : tensors_(tensors), y_(tensors.y, shares) {
        for (const auto& tensor : tensors.inputs) x_.emplace_back(tensor, shares);
        for (const auto& tensor : tensors.integers) integers_.emplace_back(tensor, shares);
    }

    void take(int64_t sample) {
        for (size_t i = 0; i < x_.size(); ++i) x_[i].take(tensors_.inputs[i], sample);
        for (size_t i = 0; i < integers_.size(); ++i)
            integers_[i].take(tensors_.integers[i], sample);
    }

    /// Runs the plan. A rank that fails still takes part in the exchanges.
    void run(const Job& job, Plan& plan) {
        std::vector<surrogate_named_array> inputs;
        for (auto& field : x_) inputs.push_back(field.array());
        for (auto& field : integers_) inputs.push_back(field.array());
        job.agree([&] { plan.run_network(inputs, {y_.array()}); });
    }

    void gather(const Job& job, int64_t sample, std::vector<double>& y) {
        y_.gather(job, tensors_.y.layout, sample, y);
    }

private:
    const CaseTensors& tensors_;
    std::vector<Field<T>> x_;
    std::vector<Field<int64_t>> integers_;
    Field<T> y_;
};

template <class T>
void run_samples(const Job& job, const CaseTensors& tensors, const std::vector<Share>& shares,
                 Plan& plan, CheckResult& result) {
    Sample<T> sample(tensors, shares);
    constexpr double not_computed = std::numeric_limits<double>::quiet_NaN();
    if (job.is_root()) result.y.assign(static_cast<size_t>(tensors.n_y()), not_computed);
    sample.take(0);
    sample.run(job, plan);  // the first run touches memory for the first time; the second is timed
    job.barrier();
    const auto begin = Clock::now();
    sample.run(job, plan);
    result.seconds_run = job.max(seconds_since(begin));
    result.bytes_sent_per_rank = job.max(plan.counter("bytes_sent"));
    result.collectives = job.max(plan.counter("collectives"));
    sample.gather(job, 0, result.y);
    for (int64_t s = 1; s < tensors.n_sample; ++s) {
        sample.take(s);
        sample.run(job, plan);
        sample.gather(job, s, result.y);
    }
}

/// Checks the number of nodes, which only the plan defines.
void require_nodes(const CaseTensors& tensors, int64_t n_node) {
    if (tensors.y.place != SURROGATE_ON_NODES || tensors.y.n_row == n_node) return;
    throw Failure(Exit::bad_usage, "tensor check/output/" + tensors.y.name + " has " +
                                       std::to_string(tensors.y.n_row) +
                                       " rows; the network makes " + std::to_string(n_node) +
                                       " nodes of these points");
}

// ---- comparing ----

std::string hash_of(const std::vector<double>& y) {
    static_assert(std::endian::native == std::endian::little, "the hash is of little-endian bytes");
    const std::vector<float> single(y.begin(), y.end());
    const auto hash = XXH3_64bits(single.data(), single.size() * sizeof(float));
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

/// Compares y on rank 0 and sends the outcome to all ranks.
void judge_on_root(const Job& job, const LoadedCase& loaded, CheckResult& result) {
    if (job.is_root()) {
        const auto bound = [&](bool is_double, double official) {
            return loaded.model.check_bound(result.precision, is_double, official);
        };
        result.outcome = judge(loaded.tensors.evidence(), result.y.data(), bound);
        result.hash = hash_of(result.y);
    }
    std::string bytes(sizeof(CheckOutcome), '\0');
    std::memcpy(bytes.data(), &result.outcome, sizeof(CheckOutcome));
    bytes = job.broadcast(bytes);
    std::memcpy(&result.outcome, bytes.data(), sizeof(CheckOutcome));
}

/// A package of machine code that may not be opened, or by no plug-in, is a family that is not
/// built.
Plan make_plan(const Model& model, const std::vector<Share>& shares, const Options& options) {
    try {
        return Plan(model, shares.front().domain, shares.back().domain, options);
    } catch (const Error& error) {
        if (error.status() != SURROGATE_NOT_SUPPORTED || model.family() != "torch") throw;
        throw Failure(Exit::no_case, error.what());
    }
}

}  // namespace

CheckResult run_check(const Job& job, const Context& context, const LoadedCase& loaded,
                      const CheckSettings& settings) {
    const CaseTensors& tensors = loaded.tensors;
    CheckResult result;
    result.family = loaded.model.family();
    result.is_truth_double = tensors.evidence().is_double();
    const auto shares = make_shares(job, context, loaded, settings.partition);
    const auto options = plan_options(settings);

    job.barrier();
    const auto begin = Clock::now();
    Plan plan = make_plan(loaded.model, shares, options);
    result.seconds_plan = job.max(seconds_since(begin));
    result.backend = plan.option("backend");
    result.precision = plan.option("precision");
    result.vector = plan.option("vector");
    result.threads = std::stoi(plan.option("threads"));
    require_nodes(tensors, plan.counter("nodes"));

    if (result.precision == "fp64")
        run_samples<double>(job, tensors, shares, plan, result);
    else
        run_samples<float>(job, tensors, shares, plan, result);
    judge_on_root(job, loaded, result);
    return result;
}

}  // namespace surrogate::tool
