// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/hept/hept_device.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/device/device_steps.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/token_plan.hpp"

namespace surrogate::impl::hept {

/// Tokens and sums that device ranks exchange, in the order of ranks. Sender and receiver list the
/// entries in the same order.
struct VisitLists {
    std::vector<int32_t> tokens;                  ///< sent; received ghost tokens keep their order
    std::vector<kernels::hept::DeviceSum> given;  ///< sums of ghost tokens, computed on this rank
    /// sums of own tokens, sorted by sum, then rank
    std::vector<kernels::hept::DeviceShare> taken;
    std::vector<int64_t> n_token, n_visitor;  ///< sent to and received from each rank (size)
    /// sums sent to and received from each rank (size)
    std::vector<int64_t> n_sum_given, n_sum_taken;

    VisitLists() = default;
    VisitLists(const Config& config, const TokenPlan& plan, int n_rank);
};

/// Exchanges tokens between device ranks during a run: streams of ghost tokens before attention,
/// and partial sums of their attention, all heads together, back to the owner ranks. Counts are
/// fixed when the plan is made. Does nothing if no rank has ghost tokens.
///
/// Its memory is part of the program's arena: call add() before the arena is allocated, fill() and
/// connect() afterwards.
class DeviceVisits {
public:
    /// Keeps references to all arguments; they must outlive this object. Local.
    DeviceVisits(const Config& config, const kernels::hept::DeviceHead& head, const TokenPlan& plan,
                 kernels::Device& device, const kernels::hept::DeviceKernels& kernels,
                 DeviceArena& arena)
        : config_(config),
          head_(head),
          plan_(plan),
          device_(device),
          kernels_(kernels),
          arena_(arena) {}

    /// Reserves memory in the arena. Local; call it after the plan is complete.
    void add(int n_rank);
    void fill(ArenaWriter& put) const;
    /// Sets up the exchanges. findings: record of errors that other ranks report by NaN. sums: as
    /// in AttendArgs. Local.
    void connect(kernels::DeviceFindings* findings, float* sums);

    bool is_needed() const { return plan_.n_visit() > 0; }
    std::span<const DeviceExchange> exchanges() const { return exchanges_; }
    // Bytes that this rank sends: once per run, and in each layer.
    int64_t coordinate_bytes() const;
    int64_t layer_bytes() const;

    // Functions that enqueue work:
    /// Copies coordinates, a stream of most_coordinates channels, to the rows of ghost tokens.
    /// Collective.
    void bring_coordinates(float* stream, DeviceSteps& steps) const;
    /// Copies tokens, a stream of `width` channels, to the rows of ghost tokens. Collective.
    void bring_tokens(float* stream, int64_t width, DeviceSteps& steps) const;
    /// Sets the sums that other ranks may compute to zero. Must run before attention.
    void clear_sums(DeviceSteps& steps) const;
    void return_sums(DeviceSteps& steps) const;

private:
    /// Kinds of rows, in the order of exchanges_.
    enum Way { coordinate_way, token_way, sum_way, n_way };
    /// Bytes of one kind of rows, per rank (size).
    struct Bytes {
        std::vector<int64_t> given, taken;
    };

    void add_way(Way way, int64_t n_number, std::span<const int64_t> n_given,
                 std::span<const int64_t> n_taken);
    void bring(Way way, float* stream, int64_t width, int64_t n_channel, DeviceSteps& steps) const;
    void share(kernels::hept::ShareArgs::Step step, float* memory, DeviceSteps& steps) const;
    int64_t n_number() const { return config_.h_dim + 1; }  ///< numbers of a sum

    const Config& config_;
    const kernels::hept::DeviceHead head_;
    const TokenPlan& plan_;
    kernels::Device& device_;
    const kernels::hept::DeviceKernels& kernels_;
    DeviceArena& arena_;
    kernels::DeviceFindings* findings_ = nullptr;
    float* sums_ = nullptr;
    VisitLists lists_;
    std::array<Bytes, n_way> bytes_;
    std::vector<DeviceExchange> exchanges_;  // (n_way), see bytes_; empty if no exchange is needed
    // Offsets in arena_.
    int64_t tokens_ = 0, given_sums_ = 0, taken_sums_ = 0, given_ = 0, taken_ = 0;
};

}  // namespace surrogate::impl::hept
