// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/check_case.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>

#include "coupling/tool/case_share.hpp"

namespace surrogate::tool {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// ---- running ----

Options plan_options(const CheckSettings& settings) {
    Options options{{"reproducible", settings.is_reproducible ? "true" : "false"}};
    if (!settings.backend.empty()) options.set("backend", settings.backend);
    if (!settings.precision.empty()) options.set("precision", settings.precision);
    if (!settings.threads.empty()) options.set("threads", settings.threads);
    if (!settings.vector.empty()) options.set("vector", settings.vector);
    return options;
}

/// One tensor's values at this rank's points. Scattered points lie as (n_local, n_channel), grids
/// as (n_channel, n_local): each as solvers of that kind have it.
template <class T>
class Field {
public:
    Field(const Share& share, const std::string& name, int64_t n_channel)
        : share_(share), name_(name), n_channel_(n_channel) {
        values_.resize(static_cast<size_t>(share.n() * n_channel));
        if (share.is_sphere)
            stride_ = {1, share.n()};
        else
            stride_ = {n_channel, 1};
    }

    T& at(int64_t point, int64_t channel) {
        return values_[static_cast<size_t>(point * stride_.point + channel * stride_.channel)];
    }

    void take(const CaseTensor<float>& tensor, int64_t sample) {
        const TensorLayout& l = tensor.layout;
        for (int64_t i = 0; i < share_.n(); ++i)
            for (int64_t c = 0; c < n_channel_; ++c)
                at(i, c) =
                    tensor.data[sample * l.sample +
                                share_.points[static_cast<size_t>(i)] * l.point + c * l.channel];
    }

    surrogate_named_array array() {
        surrogate_array a = matrix(values_.data(), share_.n(), n_channel_);
        a.stride[0] = stride_.point;
        a.stride[1] = stride_.channel;
        return {name_.c_str(), a};
    }

    /// Puts the sample into its place in `y` on rank 0.
    void gather(const Job& job, const TensorLayout& layout, int64_t sample,
                std::vector<double>& y) {
        std::vector<T> mine;  // (n_local, n_channel)
        for (int64_t i = 0; i < share_.n(); ++i)
            for (int64_t c = 0; c < n_channel_; ++c) mine.push_back(at(i, c));
        const auto points = job.gather(share_.points);
        const auto values = job.gather(mine);
        auto next = values.begin();
        for (const int64_t point : points)
            for (int64_t c = 0; c < n_channel_; ++c)
                y[static_cast<size_t>(sample * layout.sample + point * layout.point +
                                      c * layout.channel)] = *next++;
    }

private:
    struct Stride {
        int64_t point, channel;
    };
    const Share& share_;
    std::string name_;
    int64_t n_channel_;
    Stride stride_{};
    std::vector<T> values_;
};

/// The part of one sample that this rank owns, evaluated.
template <class T>
class Sample {
public:
    Sample(const CaseTensors& tensors, const std::vector<Share>& shares)
        : tensors_(tensors),
          y_(share(shares, tensors.y.side), tensors.y.name, tensors.y.n_channel) {
        for (const auto& tensor : tensors.inputs)
            x_.emplace_back(share(shares, tensor.side), tensor.name, tensor.n_channel);
    }

    void take(int64_t sample) {
        for (size_t i = 0; i < x_.size(); ++i) x_[i].take(tensors_.inputs[i], sample);
    }

    /// Not hindered by a rank that fails: it takes part in the exchanges of the run all the same.
    void run(const Job& job, Plan& plan) {
        std::vector<surrogate_named_array> inputs;
        for (auto& field : x_) inputs.push_back(field.array());
        job.agree([&] { plan.run_network(inputs, {y_.array()}); });
    }

    void gather(const Job& job, int64_t sample, std::vector<double>& y) {
        y_.gather(job, tensors_.y.layout, sample, y);
    }

private:
    static const Share& share(const std::vector<Share>& shares, int side) {
        return side == 1 ? shares.back() : shares.front();
    }
    const CaseTensors& tensors_;
    std::vector<Field<T>> x_;
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

// ---- judging ----

std::string hash_of(const std::vector<double>& y) {
    static_assert(std::endian::native == std::endian::little, "the hash is of little-endian bytes");
    const std::vector<float> single(y.begin(), y.end());
    const auto hash = XXH3_64bits(single.data(), single.size() * sizeof(float));
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

/// Rank 0 has y and judges; all ranks learn the verdict.
void judge_on_root(const Job& job, const LoadedCase& loaded, CheckResult& result) {
    if (job.is_root()) {
        const auto bound = [&](bool is_double, double official) {
            return loaded.model.check_bound(result.precision, is_double, official);
        };
        result.verdict = judge(loaded.tensors.evidence(), result.y.data(), bound);
        result.hash = hash_of(result.y);
    }
    std::string bytes(sizeof(Verdict), '\0');
    std::memcpy(bytes.data(), &result.verdict, sizeof(Verdict));
    bytes = job.broadcast(bytes);
    std::memcpy(&result.verdict, bytes.data(), sizeof(Verdict));
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
    Plan plan(loaded.model, shares.front().domain, shares.back().domain, options);
    result.seconds_plan = job.max(seconds_since(begin));
    result.backend = plan.option("backend");
    result.precision = plan.option("precision");
    result.vector = plan.option("vector");
    result.threads = std::stoi(plan.option("threads"));

    if (result.precision == "fp64")
        run_samples<double>(job, tensors, shares, plan, result);
    else
        run_samples<float>(job, tensors, shares, plan, result);
    judge_on_root(job, loaded, result);
    return result;
}

}  // namespace surrogate::tool
