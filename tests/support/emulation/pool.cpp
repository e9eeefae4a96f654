// SPDX-License-Identifier: Apache-2.0
// Compiled without sanitizers always: what lanes hand each other in here must neither look like a
// race nor order anything.
#include "pool.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace surrogate::emulation {

constinit thread_local Thread* current = nullptr;
const Collective warp_barrier{"__syncwarp"};

namespace {

const Collective block_barrier{"__syncthreads"};

/// Thrown through the kernel to leave it after a failure.
struct Abandoned {};

std::string text(const uint3& index) {
    std::string result = "(";
    result += std::to_string(index.x) + ", " + std::to_string(index.y) + ", ";
    return result + std::to_string(index.z) + ")";
}
std::string text(const Place& place) {
    const std::string file = place.file_name();
    return file.substr(file.rfind('/') + 1) + ":" + std::to_string(place.line());
}
std::string text(const Lane& lane) {
    const std::string who = "thread " + std::to_string(lane.index);
    if (lane.is_done) return who + " has returned";
    if (lane.waits_at == nullptr) return who + " runs";
    return who + " waits in " + lane.waits_at->name + " (" + text(lane.place) + ")";
}
bool is_same(const Lane& a, const Lane& b) {
    return a.is_done == b.is_done && a.waits_at == b.waits_at && a.mask == b.mask &&
           a.place.line() == b.place.line() && a.place.column() == b.place.column();
}

}  // namespace

Lane& self_lane() {
    if (current == nullptr) throw std::logic_error("a word of device code outside of a kernel");
    return static_cast<Lane&>(*current);
}

void Pool::run(const Launch& launch) {
    if (current != nullptr) throw std::logic_error("a kernel launches a kernel");
    launch_ = &launch;
    prepare(launch);
    for (unsigned z = 0; z < launch.grid.z; ++z)
        for (unsigned y = 0; y < launch.grid.y; ++y)
            for (unsigned x = 0; x < launch.grid.x; ++x) run_block({x, y, z});
}

void Pool::prepare(const Launch& launch) {
    n_thread_ = launch.block.count();
    while (lanes_.size() < n_thread_) {
        auto lane = std::make_unique<Lane>();
        lane->pool = this;
        lane->index = static_cast<int>(lanes_.size());
        lane->lane = lane->index % 32;
        lane->warp = lane->index / 32;
        lane->fiber.make(&Pool::lane_main, this, lane->index);
        lanes_.push_back(std::move(lane));
    }
    warps_.resize((n_thread_ + 31) / 32);
    for (size_t i = 0; i < n_thread_; ++i) {
        const auto index = static_cast<unsigned>(i);
        const dim3& size = launch.block;
        lanes_[i]->block_size = size;
        lanes_[i]->grid_size = launch.grid;
        lanes_[i]->thread_index = {index % size.x, index / size.x % size.y,
                                   index / size.x / size.y};
    }
}

/// Fresh in every block; a heap block of exactly this size, so that AddressSanitizer sees overruns.
void Pool::make_shared_memory(size_t n_byte) {
    if (shared_ == nullptr || shared_bytes_ != n_byte)
        shared_.reset(static_cast<unsigned char*>(::operator new (n_byte, std::align_val_t{128})));
    shared_bytes_ = n_byte;
    std::memset(shared_.get(), 0xff, n_byte);
}

void Pool::run_block(const uint3& index) {
    make_shared_memory(launch_->shared_bytes);
    n_at_barrier_ = n_barrier_ = 0;
    for (size_t w = 0; w < warps_.size(); ++w) {
        const size_t n_lane = std::min<size_t>(32, n_thread_ - 32 * w);
        warps_[w] = {};
        warps_[w].present = warps_[w].ready = ~0U >> (32 - n_lane);
    }
    for (size_t i = 0; i < n_thread_; ++i) {
        Lane& lane = *lanes_[i];
        lane.block_index = index;
        lane.shared = shared_.get();
        lane.shared_bytes = shared_bytes_;
        lane.is_done = false;
        lane.waits_at = nullptr;
    }
    release(&begin_sync_);
    const auto is_stuck = [&] {
        return std::any_of(lanes_.begin(), lanes_.begin() + static_cast<int64_t>(n_thread_),
                           [](const auto& lane) { return !lane->is_done; });
    };
    current = lanes_[0].get();
    main_.change_to(lanes_[0]->fiber);
    while (is_stuck()) {  // no thread can continue: all leave
        if (!failure_) failure_ = std::make_exception_ptr(std::logic_error(stuck()));
        for (size_t i = 0; i < n_thread_; ++i)
            if (!lanes_[i]->is_done) warps_[i / 32].ready |= 1U << i % 32;
        current = next_after(*lanes_[0]);
        main_.change_to(static_cast<Lane*>(current)->fiber);
    }
    acquire(&end_sync_);
    current = nullptr;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

std::string Pool::stuck() const {
    std::string result = "block " + text(lanes_[0]->block_index) + " cannot go on: ";
    std::vector<const Lane*> kinds;
    for (size_t i = 0; i < n_thread_ && kinds.size() < 4; ++i) {
        const Lane& lane = *lanes_[i];
        if (std::any_of(kinds.begin(), kinds.end(),
                        [&](const Lane* other) { return is_same(*other, lane); }))
            continue;
        result += (kinds.empty() ? "" : ", ") + text(lane);
        kinds.push_back(&lane);
    }
    return result;
}

void Pool::lane_main(void* pool) {
    Fiber::arrive();
    Lane& lane = static_cast<Lane&>(*current);
    for (;;) static_cast<Pool*>(pool)->one_block(lane);
}

void Pool::one_block(Lane& self) {
    acquire(&begin_sync_);
    try {
        if (!failure_) launch_->thread();
        if (!failure_ && !self.copies.empty())
            throw std::logic_error("block " + text(self.block_index) + ": " + text(self) +
                                   ", which ends without wait_copies()");
    } catch (const Abandoned&) {
    } catch (...) {
        if (!failure_) failure_ = std::current_exception();
    }
    self.copies.clear();
    self.is_done = true;
    warps_[static_cast<size_t>(self.warp)].ready &= ~(1U << self.lane);
    release(&end_sync_);
    leave(self);
}

/// The next lane that can run: of the same warp if there is one, so that warps go on together.
Lane* Pool::next_after(const Lane& lane) {
    const size_t n_warp = warps_.size();
    for (size_t i = 0; i <= n_warp; ++i) {
        const size_t w = (static_cast<size_t>(lane.warp) + i) % n_warp;
        const int first = i == 0 ? lane.lane + 1 : 0;
        const uint32_t ready = std::rotr(warps_[w].ready, first);
        if (ready != 0)
            return lanes_[32 * w + static_cast<size_t>((std::countr_zero(ready) + first) % 32)]
                .get();
    }
    return nullptr;
}

void Pool::leave(Lane& self) {
    Lane* next = next_after(self);
    current = next;
    self.fiber.change_to(next != nullptr ? next->fiber : main_);
}

void Pool::fail(std::exception_ptr failure) {
    if (!failure_) failure_ = std::move(failure);
    throw Abandoned{};
}

void Pool::check_agreement(const Lane& self, const Lane& other) {
    if (is_same(self, other)) return;
    fail(std::make_exception_ptr(std::logic_error("block " + text(self.block_index) + ": " +
                                                  text(other) + ", " + text(self))));
}

/// Returns whether all lanes of the mask wait with this mask, and then their operands. Others may
/// wait with masks of their own and come later, but must not wait elsewhere with the same one.
bool Pool::is_complete(const Lane& self, const Warp& warp, std::array<void*, 32>& all) {
    const auto first = static_cast<size_t>(self.warp) * 32;
    const uint32_t others = warp.arrived & self.mask & ~(1U << self.lane);
    if (others != 0) {
        const Lane& other = *lanes_[first + static_cast<size_t>(std::countr_zero(others))];
        if (other.mask == self.mask) check_agreement(self, other);
    }
    if ((warp.arrived & self.mask) != self.mask) return false;
    all.fill(nullptr);
    for (uint32_t rest = self.mask; rest != 0; rest &= rest - 1) {
        const auto l = static_cast<size_t>(std::countr_zero(rest));
        const Lane& other = *lanes_[first + l];
        if (other.mask != self.mask) return false;
        check_agreement(self, other);
        all[l] = other.operands;
    }
    return true;
}

void Pool::wait(const Collective& collective, uint32_t mask, void* operands, const Place& place) {
    Lane& self = self_lane();
    Warp& warp = warps_[static_cast<size_t>(self.warp)];
    const uint32_t bit = 1U << self.lane;
    if (failure_) throw Abandoned{};
    self.waits_at = &collective;
    self.operands = operands;
    self.place = place;
    self.mask = mask & warp.present;
    if ((mask & bit) == 0 || (collective.is_whole_warp && warp.present != ~0U))
        emulation::fail(text(self) + ": not all lanes that take part are there");
    const auto lowest = static_cast<size_t>(std::countr_zero(self.mask));
    const bool is_barrier = &collective == &warp_barrier;
    char* sync = &warp.sync[lowest][warp.n_barrier[lowest] % 2];
    if (is_barrier) release(sync);
    warp.arrived |= bit;
    std::array<void*, 32> all;
    if (is_complete(self, warp, all)) {
        if (collective.combine != nullptr) collective.combine(all.data(), self.mask);
        warp.n_barrier[lowest] += is_barrier ? 1 : 0;
        warp.arrived &= ~self.mask;
        warp.ready |= self.mask;
    } else {
        warp.ready &= ~bit;
        leave(self);
        if (failure_) throw Abandoned{};
    }
    if (is_barrier) acquire(sync);
    self.waits_at = nullptr;
}

void Pool::wait_block(const Place& place) {
    Lane& self = self_lane();
    if (failure_) throw Abandoned{};
    self.waits_at = &block_barrier;
    self.mask = 0;
    self.place = place;
    if (n_at_barrier_ == 0)
        first_at_barrier_ = &self;
    else
        check_agreement(self, *first_at_barrier_);
    char* sync = &barrier_sync_[n_barrier_ % 2];
    release(sync);
    warps_[static_cast<size_t>(self.warp)].ready &= ~(1U << self.lane);
    if (++n_at_barrier_ == n_thread_) {
        n_at_barrier_ = 0;
        ++n_barrier_;
        for (Warp& warp : warps_) warp.ready = warp.present;
    } else {
        leave(self);
        if (failure_) throw Abandoned{};
    }
    acquire(sync);
    self.waits_at = nullptr;
}

void fail(const std::string& what) {
    const Lane& self = self_lane();
    self.pool->fail(
        std::make_exception_ptr(std::logic_error("block " + text(self.block_index) + ", thread " +
                                                 std::to_string(self.index) + ": " + what)));
}

void run(const Launch& launch) {
    thread_local Pool pool;
    pool.run(launch);
}

}  // namespace surrogate::emulation
