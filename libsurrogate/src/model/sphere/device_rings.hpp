// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/sphere/sphere_device.hpp"
#include "libsurrogate/src/device/device_memory.hpp"
#include "libsurrogate/src/device/device_steps.hpp"
#include "libsurrogate/src/model/sphere/bands.hpp"

/// Rings between the ranks that compute them and those that read them, on devices.
namespace surrogate::impl::sphere {

/// Rows of a grid that each rank reads: one range, around its own rows where those are needed.
using Wanted = std::vector<Range>;
/// Gathers the row range of each rank. Collective.
Wanted wanted_of_all(Communicator& comm, Range own);

/// Rows that a stencil reads, of its input.
Range rows_read(const kernels::sphere::Stencil& stencil);

/// Returns the index of each row of a grid among parts of most_rows rows per rank.
std::vector<int64_t> places_of(const Bands& bands, int64_t most_rows);

/// Location of rows: `words` begins with row `first`.
struct RingMemory {
    uint32_t* words = nullptr;
    int64_t first = 0;  ///< ring
    int64_t ring_step = 0, run_step = 0;
};

/// Memory for what ranks give and take, shared by all exchanges of a program.
struct RingStaging {
    uint32_t *given = nullptr, *taken = nullptr;
};

/// One kind of exchange of whole rings, n_run runs of n_word words of 4 bytes each. Ranks know each
/// other's bands and wishes, so that planning is local.
class RingExchange {
public:
    RingExchange(const Bands& bands, const Wanted& wanted, int rank, int64_t n_run, int64_t n_word);

    int64_t given_bytes() const { return ring_bytes() * std::ssize(given_rings_); }
    int64_t taken_bytes() const { return ring_bytes() * std::ssize(taken_rings_); }

    /// Adds room for the lists of rings; before the arena is taken.
    void add_to(DeviceArena& arena);
    template <class Put>
    void move_to(Put& put) {
        put(given_at_, relative(given_rings_, own_.begin));
        put(taken_at_, relative(taken_rings_, wanted_.begin));
    }
    /// Returns the exchange that planning reserves and an evaluation enqueues. This object must
    /// outlive it.
    DeviceExchange exchange(const RingStaging& staging) const;

    /// Sends own rings of `from` to all ranks that request them, and copies them to `to` on this
    /// rank unless both are the same memory. Rings of other ranks are received in `to`. A failed
    /// run sends NaN; a rank that receives NaN records a finding.
    void enqueue(const kernels::sphere::DeviceKernels& kernels, kernels::Device& device,
                 const DeviceArena& arena, const RingStaging& staging, const RingMemory& from,
                 const RingMemory& to, kernels::DeviceFindings* findings, DeviceSteps& steps) const;

private:
    int64_t ring_bytes() const { return 4 * n_run_ * n_word_; }
    static std::vector<int32_t> relative(const std::vector<int64_t>& rings, int64_t first);
    /// Steps of packed rings.
    RingMemory packed(uint32_t* words) const { return {words, 0, n_run_ * n_word_, n_word_}; }
    kernels::sphere::RingsArgs args(int64_t n_ring, const RingMemory& from,
                                    const RingMemory& to) const;

    Range own_, wanted_;
    int64_t n_run_, n_word_;
    std::vector<int64_t> given_rings_, taken_rings_;  // by ranks
    std::vector<int64_t> given_bytes_, taken_bytes_;  // (ranks)
    int64_t given_at_ = 0, taken_at_ = 0;
};

}  // namespace surrogate::impl::sphere
