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
    Policy action = Policy::off;  ///< off: the guard has not triggered
    const char* field = "";
    double fraction = 0, value = 0, limit = 0;
    bool has_spoken() const { return action != Policy::off; }
};

/// Number of points in a chunk. A chunk stays in the first-level cache while the guards process it
/// one after the other.
constexpr int64_t n_chunk = 1024;

/// Base class of guards. A guard reads all inputs and all predictions of this rank in chunks of up
/// to n_chunk points, adds its counts to one sum over the ranks, and decides by the sum, so that
/// the result is the same on all ranks. A guard whose policy is off is not called. Only the
/// constructor allocates.
class Guard {
public:
    virtual ~Guard() = default;
    virtual const char* name() const = 0;
    virtual bool can_correct() const { return false; }
    virtual bool can_be_off() const { return true; }

    Policy policy() const { return policy_; }
    void set(Policy policy) { policy_ = policy; }

    /// Starts an evaluation.
    virtual void begin() = 0;
    /// Reads values of one field. A correction that needs no other rank is made at once.
    virtual void look_at_input(size_t, int64_t /*first*/, std::span<double>) {}
    virtual void look_at_output(size_t, int64_t /*first*/, std::span<double>) {}

    /// Returns the number of slots in the sum over the ranks, [n_sum].
    virtual int64_t n_sum() const = 0;
    virtual void write_sums(double* sums) = 0;
    virtual Finding judge(const double* sums) = 0;

    /// Returns the number of slots in a maximum over the ranks, [n_worst]. The maximum is computed
    /// after a guard has triggered, and gives the value and the limit of its result.
    virtual int64_t n_worst() const { return 0; }
    virtual void write_worst(double*) const {}
    virtual void complete(const double* /*worst*/, Finding*) const {}

    /// Writes a line about a result, without line feed.
    virtual void describe(const Finding& finding, char* text, size_t size) const = 0;

protected:
    explicit Guard(Policy policy) : policy_(policy) {}

private:
    Policy policy_;
};

}  // namespace surrogate::timeloop
