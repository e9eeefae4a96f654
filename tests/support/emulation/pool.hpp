// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "fiber.hpp"
#include "threads.hpp"

/// Schedule of the threads of a block; for the emulation itself.
namespace surrogate::emulation {

/// Something that threads do together. combine: for all lanes of a mask, from their operands.
struct Collective {
    const char* name;
    void (*combine)(void* const* operands, uint32_t mask) = nullptr;
    bool is_whole_warp = false;
};

class Pool;

struct Lane : Thread {
    Pool* pool = nullptr;
    Fiber fiber;
    int warp = 0, index = 0;
    bool is_done = true;
    const Collective* waits_at = nullptr;  ///< null: runs
    void* operands = nullptr;
    uint32_t mask = 0;
    Place place;
};

/// Bit l of a mask: lane l.
struct Warp {
    uint32_t present = 0, ready = 0, arrived = 0;
    /// Barriers of a mask are counted at its lowest lane. Even and odd ones have objects of their
    /// own: a lane that is early at the next one must not be ordered before those that leave this
    /// one.
    std::array<unsigned, 32> n_barrier{};
    char sync[32][2] = {};
};

/// The fibers of an OS thread, used again by every block it runs.
class Pool {
public:
    void run(const Launch& launch);
    void wait(const Collective& collective, uint32_t mask, void* operands, const Place& place);
    void wait_block(const Place& place);
    [[noreturn]] void fail(std::exception_ptr failure);

private:
    void prepare(const Launch& launch);
    void run_block(const uint3& index);
    void make_shared_memory(size_t n_byte);
    static void lane_main(void* pool);
    void one_block(Lane& self);
    void leave(Lane& self);
    Lane* next_after(const Lane& lane);
    bool is_complete(const Lane& self, const Warp& warp, std::array<void*, 32>& all);
    void check_agreement(const Lane& self, const Lane& other);
    std::string stuck() const;

    struct Free {
        void operator()(unsigned char* memory) const {
            ::operator delete (memory, std::align_val_t{128});
        }
    };
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::vector<Warp> warps_;
    Fiber main_;
    std::unique_ptr<unsigned char, Free> shared_;
    size_t shared_bytes_ = 0;
    const Launch* launch_ = nullptr;
    size_t n_thread_ = 0, n_at_barrier_ = 0;
    Lane* first_at_barrier_ = nullptr;
    unsigned n_barrier_ = 0;
    char barrier_sync_[2] = {}, begin_sync_ = 0, end_sync_ = 0;
    std::exception_ptr failure_;
};

/// The thread that runs. Throws std::logic_error outside of kernels.
Lane& self_lane();

/// Barrier of lanes, as __syncwarp.
extern const Collective warp_barrier;

}  // namespace surrogate::emulation
