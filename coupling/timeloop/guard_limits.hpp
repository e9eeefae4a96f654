// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/timeloop/guard.hpp"
#include "coupling/timeloop/limits.hpp"

namespace surrogate::timeloop {

/// Common part of guards that compare fields with intervals: an interval for each field, and the
/// index of the interval that the last result is about.
class LimitsGuard : public Guard {
public:
    bool can_correct() const override { return true; }
    int64_t n_sum() const override { return std::ssize(limits_); }
    void write_sums(double* sums) override {
        for (const Limits& limits : limits_) *sums++ = static_cast<double>(limits.n_outside());
    }
    int64_t n_worst() const override { return 2 * n_sum(); }
    void write_worst(double* worst) const override {
        for (size_t i = 0; i < limits_.size(); ++i) limits_[i].write_worst(worst + 2 * i);
    }
    void complete(const double* worst, Finding* finding) const override {
        limits_[spoken_].complete(worst + 2 * spoken_, finding);
    }

protected:
    LimitsGuard() : Guard(Policy::warn) {}

    std::vector<Limits> limits_;
    size_t spoken_ = 0;  // index in limits_ that the result is about
};

}  // namespace surrogate::timeloop
