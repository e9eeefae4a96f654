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

/// Rows that device ranks exchange, in the order of ranks; two ranks agree on the order of
/// what one gives and the other takes.
struct VisitLists {
    std::vector<int32_t> tokens;                    ///< given; visitors are taken as they stand
    std::vector<kernels::hept::DeviceSum> given;    ///< of visitors, computed here
    std::vector<kernels::hept::DeviceShare> taken;  ///< of own tokens; by sums, then ranks
    std::vector<int64_t> n_token, n_visitor;        ///< given to and taken from each rank (ranks)
    std::vector<int64_t> n_sum_given, n_sum_taken;  ///< likewise

    VisitLists() = default;
    VisitLists(const Config& config, const TokenPlan& plan, int n_rank);
};

/// Data that device ranks exchange in a run: streams of ghost tokens, and sums of
/// their attention back home, all heads together. Counts are those of planning. Nothing where no
/// token of any rank visits another one.
///
/// Its memory is part of the program's: add() before the arena is taken, fill() and connect() then.
class DeviceVisits {
public:
    /// All outlive it.
    DeviceVisits(const Config& config, const kernels::hept::DeviceHead& head, const TokenPlan& plan,
                 kernels::Device& device, const kernels::hept::DeviceKernels& kernels,
                 DeviceArena& arena)
        : config_(config),
          head_(head),
          plan_(plan),
          device_(device),
          kernels_(kernels),
          arena_(arena) {}

    /// Local, once the plan stands.
    void add(int n_rank);
    void fill(ArenaWriter& put) const;
    /// findings: where what comes from a rank that failed is told. sums: as in AttendArgs.
    void connect(kernels::DeviceFindings* findings, float* sums);

    bool is_needed() const { return plan_.n_visit() > 0; }
    std::span<const DeviceExchange> exchanges() const { return exchanges_; }
    // Bytes that this rank gives: once a run, and in each layer.
    int64_t coordinate_bytes() const;
    int64_t layer_bytes() const;

    // Given to the steps.
    /// Coordinates, a stream of most_coordinates channels, to the visitors' rows.
    void bring_coordinates(float* stream, DeviceSteps& steps) const;
    /// Channels of tokens, a stream of `width`, likewise.
    void bring_tokens(float* stream, int64_t width, DeviceSteps& steps) const;
    /// Before sums are made: those that other ranks may make are zero.
    void clear_sums(DeviceSteps& steps) const;
    void return_sums(DeviceSteps& steps) const;

private:
    /// Kinds of rows, in the order of exchanges_.
    enum Way { coordinate_way, token_way, sum_way, n_way };
    /// Bytes of a kind of rows (ranks).
    struct Bytes {
        std::vector<int64_t> given, taken;
    };

    void add_way(Way way, int64_t n_number, std::span<const int64_t> n_given,
                 std::span<const int64_t> n_taken);
    void bring(Way way, float* stream, int64_t width, int64_t n_channel, DeviceSteps& steps) const;
    void share(kernels::hept::ShareArgs::Step step, float* memory, DeviceSteps& steps) const;
    int64_t n_number() const { return config_.h_dim + 1; }  ///< of a sum

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
    std::vector<DeviceExchange> exchanges_;  // (n_way) of bytes_; empty where nothing is needed
    // In arena_.
    int64_t tokens_ = 0, given_sums_ = 0, taken_sums_ = 0, given_ = 0, taken_ = 0;
};

}  // namespace surrogate::impl::hept
