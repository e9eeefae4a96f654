// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/check_case.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace surrogate::tool {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// ---- loading ----

const surrogate_tensor& tensor(const std::vector<surrogate_tensor>& tensors,
                               const std::string& name, const std::string& file) {
    for (const auto& candidate : tensors)
        if (name == candidate.name) return candidate;
    throw Failure(Exit::no_case, file + " has no check case: tensor check/" + name + " is missing");
}

std::vector<int64_t> shape_of(const surrogate_tensor& t) {
    return {t.shape, t.shape + t.n_dim};
}

std::string text_of(const std::vector<int64_t>& shape) {
    std::string text;
    for (const int64_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return "(" + text + ")";
}

void require(bool is_right, const surrogate_tensor& t, const std::string& expected) {
    if (is_right) return;
    throw Failure(Exit::bad_usage, std::string("tensor check/") + t.name + " has shape " +
                                       text_of(shape_of(t)) + ", data type " +
                                       std::to_string(t.dtype) + "; expected " + expected);
}

/// Finds x, y and y64 and checks that they belong together.
void find_tensors(LoadedCase& loaded, const std::string& file) {
    const auto tensors = loaded.tensors.tensors();
    const auto& x = tensor(tensors, "input/x", file);
    const auto& y = tensor(tensors, "output/y", file);
    const auto& y64 = tensor(tensors, "output64/y", file);
    require(x.dtype == SURROGATE_FLOAT32 && x.n_dim == 3, x, "float32 (samples, points, in)");
    loaded.n_sample = x.shape[0];
    loaded.n_point = x.shape[1];
    loaded.n_in = x.shape[2];
    loaded.y_shape = shape_of(y);
    loaded.n_out = y.n_dim == 3 ? y.shape[2] : 0;
    const std::vector<int64_t> expected = {loaded.n_sample, loaded.n_point, loaded.n_out};
    require(y.dtype == SURROGATE_FLOAT32 && loaded.y_shape == expected, y,
            "float32 with the samples and points of check/input/x");
    require(y64.dtype == SURROGATE_FLOAT64 && shape_of(y64) == expected, y64,
            "float64 " + text_of(expected));
    loaded.x = static_cast<const float*>(x.data);
    loaded.y = static_cast<const float*>(y.data);
    loaded.y64 = static_cast<const double*>(y64.data);
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

/// Rows this rank owns.
std::vector<int64_t> own_rows(const Job& job, const std::string& partition, int64_t n_row) {
    int64_t n = 0;
    surrogate::check(
        surrogate_partition(partition.c_str(), n_row, job.rank(), job.size(), nullptr, &n));
    std::vector<int64_t> rows(static_cast<size_t>(n));
    surrogate::check(
        surrogate_partition(partition.c_str(), n_row, job.rank(), job.size(), rows.data(), &n));
    return rows;
}

Domain make_domain(const Context& context, const std::vector<int64_t>& rows) {
    const double no_coordinate = 0;
    const int64_t no_row = 0;  // a rank without points still says that points have numbers
    return Domain(context, matrix(&no_coordinate, static_cast<int64_t>(rows.size()), 0),
                  rows.empty() ? &no_row : rows.data());
}

/// The part of one sample that this rank owns, evaluated.
template <class T>
class Sample {
public:
    Sample(const LoadedCase& loaded, const std::vector<int64_t>& rows)
        : loaded_(loaded),
          rows_(rows),
          x_(rows.size() * static_cast<size_t>(loaded.n_in)),
          y_(rows.size() * static_cast<size_t>(loaded.n_out)) {}

    void take(int64_t sample) {
        T* to = x_.data();
        for (const int64_t row : rows_) {
            const float* from = loaded_.x + (sample * loaded_.n_point + row) * loaded_.n_in;
            to = std::copy(from, from + loaded_.n_in, to);
        }
    }

    /// Not hindered by a rank that fails: it takes part in the exchanges of the run all the same.
    void run(const Job& job, Plan& plan) {
        const auto n = static_cast<int64_t>(rows_.size());
        job.agree([&] {
            plan.run_network({{"x", matrix(x_.data(), n, loaded_.n_in)}},
                             {{"y", matrix(y_.data(), n, loaded_.n_out)}});
        });
    }

    /// Adds the sample in global order to `y` on rank 0.
    void gather(const Job& job, std::vector<double>& y) const {
        const auto rows = job.gather(rows_);
        const auto values = job.gather(y_);
        const size_t begin = y.size(), n_out = static_cast<size_t>(loaded_.n_out);
        y.resize(begin + values.size());
        for (size_t i = 0; i < rows.size(); ++i)
            std::copy_n(
                values.begin() + static_cast<ptrdiff_t>(i * n_out), n_out,
                y.begin() + static_cast<ptrdiff_t>(begin + static_cast<size_t>(rows[i]) * n_out));
    }

private:
    const LoadedCase& loaded_;
    const std::vector<int64_t>& rows_;
    std::vector<T> x_;  // (n_local, n_in)
    std::vector<T> y_;  // (n_local, n_out)
};

template <class T>
void run_samples(const Job& job, const LoadedCase& loaded, const std::vector<int64_t>& rows,
                 Plan& plan, CheckResult& result) {
    Sample<T> sample(loaded, rows);
    sample.take(0);
    sample.run(job, plan);  // the first run touches memory for the first time; the second is timed
    job.barrier();
    const auto begin = Clock::now();
    sample.run(job, plan);
    result.seconds_run = job.max(seconds_since(begin));
    result.bytes_sent_per_rank = job.max(plan.counter("bytes_sent"));
    result.collectives = job.max(plan.counter("collectives"));
    sample.gather(job, result.y);
    for (int64_t s = 1; s < loaded.n_sample; ++s) {
        sample.take(s);
        sample.run(job, plan);
        sample.gather(job, result.y);
    }
}

// ---- judging ----

/// |y - y64| / |y64| over all samples.
template <class T>
double relative_l2(const T* y, const double* y64, size_t n) {
    double error = 0, norm = 0;
    for (size_t i = 0; i < n; ++i) {
        const double difference = static_cast<double>(y[i]) - y64[i];
        error += difference * difference;
        norm += y64[i] * y64[i];
    }
    return std::sqrt(error) / std::sqrt(norm);
}

/// max |y - y64|; NaN if any is.
double largest_difference(const double* y, const double* y64, size_t n) {
    double largest = 0;
    for (size_t i = 0; i < n; ++i) {
        const double difference = std::abs(y[i] - y64[i]);
        if (std::isnan(difference)) return difference;
        largest = std::max(largest, difference);
    }
    return largest;
}

std::string hash_of(const std::vector<double>& y) {
    static_assert(std::endian::native == std::endian::little, "the hash is of little-endian bytes");
    const std::vector<float> single(y.begin(), y.end());
    const auto hash = XXH3_64bits(single.data(), single.size() * sizeof(float));
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
    return text;
}

/// Of check.md: single precision may be three times as far from the truth as the official single
/// precision run, which may be lucky and close to it: then two in a million. Double precision is
/// compared to rounding.
double bound_of(const CheckResult& result) {
    if (result.precision == "fp64") return 1e-10;
    return std::max(3 * result.official_relative_l2, 2e-6);
}

void judge(const Job& job, const LoadedCase& loaded, CheckResult& result) {
    const auto n = static_cast<size_t>(loaded.n_sample * loaded.n_point * loaded.n_out);
    result.official_relative_l2 = relative_l2(loaded.y, loaded.y64, n);
    result.bound = bound_of(result);
    if (job.is_root()) {
        result.relative_l2 = relative_l2(result.y.data(), loaded.y64, n);
        result.max_abs = largest_difference(result.y.data(), loaded.y64, n);
        result.hash = hash_of(result.y);
        result.is_passed = result.relative_l2 <= result.bound;
    }
    result.is_passed = job.max(static_cast<int64_t>(result.is_passed)) != 0;
}

}  // namespace

LoadedCase load_case(const Job& job, const Context& context, const std::string& file) {
    try {
        // The check case first: a file that is only data for tests is "no check case" and not "no
        // model".
        CheckCase tensors(context, file);
        LoadedCase loaded{Model(context, file), std::move(tensors)};
        job.agree([&] { find_tensors(loaded, file); });
        return loaded;
    } catch (const Error& error) {
        if (error.status() == SURROGATE_NOT_SUPPORTED) throw Failure(Exit::no_case, error.what());
        throw;
    }
}

CheckResult run_check(const Job& job, const Context& context, const LoadedCase& loaded,
                      const CheckSettings& settings) {
    CheckResult result;
    result.family = loaded.model.family();
    const auto rows = own_rows(job, settings.partition, loaded.n_point);
    const Domain domain = make_domain(context, rows);
    const auto options = plan_options(settings);

    job.barrier();
    const auto begin = Clock::now();
    Plan plan(loaded.model, domain, options);
    result.seconds_plan = job.max(seconds_since(begin));
    result.backend = plan.option("backend");
    result.precision = plan.option("precision");
    result.vector = plan.option("vector");
    result.threads = std::stoi(plan.option("threads"));

    if (result.precision == "fp64")
        run_samples<double>(job, loaded, rows, plan, result);
    else
        run_samples<float>(job, loaded, rows, plan, result);
    judge(job, loaded, result);
    return result;
}

}  // namespace surrogate::tool
