// SPDX-License-Identifier: Apache-2.0
// Compiled without sanitizers always: what lanes hand each other in here must neither look like a race
// nor order anything.
#include "surrogate_emulation.hpp"

#include <array>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

#include "fiber.hpp"
#include "kernels/base/device_cuda.hpp"
#include "kernels/base/error.hpp"

namespace surrogate::emulation {

constinit thread_local Thread* current = nullptr;
std::atomic<Queue*> null_queue = nullptr;

namespace {

thread_local cudaError_t last_error = cudaSuccess;

/// Thrown through the kernel to leave it after a failure.
struct Abandoned {};

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
    /// Barriers of a mask are counted at its lowest lane. Even and odd ones have objects of their own:
    /// a lane that is early at the next one must not be ordered before those that leave this one.
    std::array<unsigned, 32> n_barrier{};
    char sync[32][2] = {};
};

const Collective block_barrier{"__syncthreads"};
const Collective warp_barrier{"__syncwarp"};

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

Lane& self_lane() {
    if (current == nullptr) throw std::logic_error("a word of device code outside of a kernel");
    return static_cast<Lane&>(*current);
}
void wait(const Collective& collective, uint32_t mask, void* operands, const Place& place) {
    self_lane().pool->wait(collective, mask, operands, place);
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
    while (is_stuck()) {  // nobody can go on: all leave
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

/// Whether all lanes of the mask wait with this mask, and then their operands. Others may wait with
/// masks of their own and come later, but must not wait elsewhere with the same one.
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

// ---- what warps do together --------------------------------------------------------------------

struct Shuffle {
    uint64_t bits;
    int source;
    uint64_t result = 0;
};
const Collective shuffles{
    "a shuffle", [](void* const* operands, uint32_t mask) {
        for (; mask != 0; mask &= mask - 1) {
            auto* to = static_cast<Shuffle*>(operands[std::countr_zero(mask)]);
            const void* from = operands[to->source];
            if (from == nullptr)
                emulation::fail("a shuffle from lane " + std::to_string(to->source) +
                                ", which takes no part");
            to->result = static_cast<const Shuffle*>(from)->bits;
        }
    }};

struct Vote {
    bool vote;
    uint32_t result = 0;
};
const Collective votes{"a vote", [](void* const* operands, uint32_t mask) {
                           uint32_t ballot = 0;
                           for (uint32_t l = 0; l < 32; ++l)
                               if (mask >> l & 1 && static_cast<Vote*>(operands[l])->vote)
                                   ballot |= 1U << l;
                           for (; mask != 0; mask &= mask - 1)
                               static_cast<Vote*>(operands[std::countr_zero(mask)])->result =
                                   ballot;
                       }};

struct Transpose {
    uint32_t rows, result = 0;
};
const Collective transposes{
    "transpose_8x8",
    [](void* const* operands, uint32_t) {
        const auto element = [&](int row, int column) {
            return static_cast<Transpose*>(operands[4 * row + column / 2])->rows >>
                       16 * (column % 2) &
                   0xffff;
        };
        for (int l = 0; l < 32; ++l)
            static_cast<Transpose*>(operands[l])->result =
                element(l % 4 * 2, l / 4) | element(l % 4 * 2 + 1, l / 4) << 16;
    },
    true};

struct ProductOperands {
    float* c;
    const uint32_t* a;
    const uint32_t* b;
};

struct F16 {
    static constexpr int per_register = 2;
    static float value(uint32_t bits, int which) {
        const uint32_t half = bits >> 16 * which & 0xffff;
        const float size = std::bit_cast<float>((half & 0x7fff) << 13) * 0x1p112F;
        uint32_t result = std::bit_cast<uint32_t>(size) | (half & 0x8000) << 16;
        if ((half & 0x7c00) == 0x7c00) result |= 0x7f800000;
        return std::bit_cast<float>(result);
    }
};
struct Bf16 {
    static constexpr int per_register = 2;
    static float value(uint32_t bits, int which) {
        return std::bit_cast<float>(which == 0 ? bits << 16 : bits & 0xffff0000);
    }
};
struct Tf32 {
    static constexpr int per_register = 1;
    static float value(uint32_t bits, int) {
        const auto value = std::bit_cast<float>(bits);
        if ((bits & 0x1fff) != 0 && !std::isnan(value))
            emulation::fail("product_tf32: an operand has more bits than to_tf32() leaves");
        return value;
    }
};

/// Towards zero. NaN stays NaN: its first fraction bit is set.
float round_down(double sum) {
    return static_cast<float>(
        std::bit_cast<double>(std::bit_cast<uint64_t>(sum) & ~((uint64_t{1} << 29) - 1)));
}

using Row = double __attribute__((vector_size(64)));  // (8)

template <class Format, int n_k>
void multiply(void* const* operands, uint32_t) {
    constexpr int n_element = Format::per_register, n_register = n_k / (4 * n_element);
    double a[16][n_k];
    Row b[n_k], c[16];
    for (int l = 0; l < 32; ++l) {
        const auto* lane = static_cast<const ProductOperands*>(operands[l]);
        const int g = l / 4, t = l % 4;
        for (int r = 0; r < n_register; ++r)
            for (int e = 0; e < n_element; ++e) {
                const int k = n_element * (4 * r + t) + e;
                a[g][k] = Format::value(lane->a[2 * r], e);
                a[g + 8][k] = Format::value(lane->a[2 * r + 1], e);
                b[k][g] = Format::value(lane->b[r], e);
            }
        for (int i = 0; i < 4; ++i) c[g + i / 2 * 8][2 * t + i % 2] = lane->c[i];
    }
    for (int row = 0; row < 16; ++row) {
        Row sum = c[row];
        for (int k = 0; k < n_k; ++k) sum += a[row][k] * b[k];
        c[row] = sum;
    }
    for (int l = 0; l < 32; ++l)
        for (int i = 0; i < 4; ++i)
            static_cast<const ProductOperands*>(operands[l])->c[i] =
                round_down(c[l / 4 + i / 2 * 8][l % 4 * 2 + i % 2]);
}
const Collective products[] = {{"product_f16", multiply<F16, 8>, true},
                               {"product_f16", multiply<F16, 16>, true},
                               {"product_bf16", multiply<Bf16, 8>, true},
                               {"product_bf16", multiply<Bf16, 16>, true},
                               {"product_tf32", multiply<Tf32, 8>, true}};

// ---- what kernels may ask for --------------------------------------------------------------------

struct Allowed {
    std::mutex mutex;
    std::map<const void*, size_t> bytes;
};
Allowed& allowed() {
    static Allowed instance;
    return instance;
}

}  // namespace

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

void synchronize_block(Place place) {
    self_lane().pool->wait_block(place);
}
void synchronize_warp(uint32_t mask, Place place) {
    wait(warp_barrier, mask, nullptr, place);
}
uint64_t shuffle(uint32_t mask, uint64_t bits, int source, Place place) {
    Shuffle operands{bits, source};
    wait(shuffles, mask, &operands, place);
    return operands.result;
}
uint32_t ballot(uint32_t mask, bool vote, Place place) {
    Vote operands{vote};
    wait(votes, mask, &operands, place);
    return operands.result;
}
uint32_t transpose(uint32_t rows, Place place) {
    Transpose operands{rows};
    wait(transposes, ~0U, &operands, place);
    return operands.result;
}
void product(Product product, float* c, const uint32_t* a, const uint32_t* b, Place place) {
    ProductOperands operands{c, a, b};
    wait(products[static_cast<int>(product)], ~0U, &operands, place);
}

cudaError_t allow_shared(const void* kernel, int64_t n_byte) {
    if (n_byte < 0 || static_cast<size_t>(n_byte) > shared_bytes_most)
        return last_error = cudaErrorInvalidValue;
    const std::lock_guard lock(allowed().mutex);
    allowed().bytes[kernel] = static_cast<size_t>(n_byte);
    return cudaSuccess;
}

void start(const void* kernel, cudaStream_t stream, Launch launch) {
    size_t most = shared_bytes_unasked;
    {
        const std::lock_guard lock(allowed().mutex);
        if (const auto found = allowed().bytes.find(kernel); found != allowed().bytes.end())
            most = std::max(most, found->second);
    }
    last_error = cudaSuccess;
    if (launch.shared_bytes > most) {
        last_error = cudaErrorInvalidValue;
    } else if (launch.grid.count() == 0 || launch.block.count() == 0 ||
               launch.block.count() > 1024) {
        last_error = cudaErrorInvalidConfiguration;
    } else if (Queue* queue = stream != nullptr ? static_cast<Queue*>(stream) : null_queue.load()) {
        last_error = queue->launch([launch = std::move(launch)] { run(launch); });
    } else {
        run(launch);
    }
}

}  // namespace surrogate::emulation

void surrogate::kernels::cuda::check_launch(const char* kernel) {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        throw Error(Status::device,
                    std::string("launch of ") + kernel + ": " + cudaGetErrorString(error));
}

using surrogate::emulation::last_error;

cudaError_t cudaGetLastError() {
    return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
    return last_error;
}
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorInvalidConfiguration: return "invalid configuration argument";
        case cudaErrorLaunchFailure: return "unspecified launch failure";
    }
    return "unknown error";
}
