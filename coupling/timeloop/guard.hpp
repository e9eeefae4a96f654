// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace surrogate::timeloop {

/// Actions of a guard that triggers, in order of severity.
enum class Policy : int32_t { off, warn, correct, fallback, stop };
const char* name_of(Policy policy);

/// Result of a guard in one evaluation, over all ranks.
struct Finding {
    Policy action = Policy::off;  ///< off: the guard has not spoken
    const char* field = "";
    double fraction = 0, value = 0, limit = 0;
    bool has_spoken() const { return action != Policy::off; }
};

/// Points that guards see at once: they stay in the first cache while one guard after the other
/// looks at them.
constexpr int64_t n_chunk = 1024;

/// A guard rail. It looks at all inputs and all predictions of this rank in chunks of up to n_chunk
/// points, puts what it has counted into one sum over the ranks, and judges by the sum: so the
/// outcome is the same everywhere. A guard whose policy is off is not asked. Nothing takes memory
/// but the constructor.
class Guard {
public:
    virtual ~Guard() = default;
    virtual const char* name() const = 0;
    virtual bool can_correct() const { return false; }
    virtual bool can_be_off() const { return true; }

    Policy policy() const { return policy_; }
    void set(Policy policy) { policy_ = policy; }

    /// Before an evaluation.
    virtual void begin() = 0;
    /// Values of one field; a correction of this rank's own is made at once.
    virtual void look_at_input(size_t, int64_t /*first*/, std::span<double>) {}
    virtual void look_at_output(size_t, int64_t /*first*/, std::span<double>) {}

    /// [n_sum] numbers for the sum over the ranks.
    virtual int64_t n_sum() const = 0;
    virtual void write_sums(double* sums) = 0;
    virtual Finding judge(const double* sums) = 0;

    /// [n_worst] numbers for a maximum over the ranks, which is made when a guard has spoken: for
    /// the value and the limit of its finding.
    virtual int64_t n_worst() const { return 0; }
    virtual void write_worst(double*) const {}
    virtual void complete(const double* /*worst*/, Finding*) const {}

    /// A line about a finding, without line feed.
    virtual void describe(const Finding& finding, char* text, size_t size) const = 0;

protected:
    explicit Guard(Policy policy) : policy_(policy) {}

private:
    Policy policy_;
};

}  // namespace surrogate::timeloop
