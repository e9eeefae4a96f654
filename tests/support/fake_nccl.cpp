// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_nccl.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/emulation/surrogate_emulation.hpp"

namespace surrogate::test {

using impl::NcclApi;
using impl::NcclComm;
using impl::NcclConfig;
using impl::NcclOperation;
using impl::NcclResult;
using impl::NcclType;
using impl::NcclUniqueId;

namespace {

constexpr int max_rank = 16;
constexpr size_t chunk_bytes = 16384;
/// Time limit of ncclCommAbort for graphs here. NCCL's waits forever.
constexpr std::chrono::seconds abort_limit{20};

static_assert(std::atomic<int64_t>::is_always_lock_free, "between processes");

/// Messages from one rank to another, a chunk at a time.
struct Channel {
    std::atomic<int64_t> n_written, n_read;  // chunks
    int64_t message_bytes;                   // of the message that the chunk belongs to
    unsigned char data[chunk_bytes];
};

/// State of one rank that the others see. It starts with zeros.
struct Slot {
    std::atomic<int64_t> n_written;  // chunks whose data may be read
    std::atomic<int64_t> n_read;     // chunks read of all ranks
    std::atomic<int> is_dead;        // connections broken, in a way that is heard
    int64_t count;                   // of the operation that the chunk belongs to
    NcclType type;
    NcclOperation operation;
    bool is_gather;
    alignas(64) unsigned char data[chunk_bytes];
    Channel to[max_rank];
};

struct Board {
    std::atomic<int> n_joined;
    Slot slots[max_rank];
};

Board* map_board(const char* name, int flags) {
    const int file = shm_open(name, flags, 0600);
    if (file < 0) return nullptr;
    void* memory = MAP_FAILED;
    if (ftruncate(file, sizeof(Board)) == 0)
        memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<Board*>(memory);
}

/// A communicator; operations on streams hold it, too.
struct Comm {
    ~Comm() {
        if (board) munmap(board, sizeof(Board));
        shm_unlink(name.c_str());
    }
    std::string name;
    Board* board = nullptr;
    int rank = 0, n_rank = 0;
    int64_t n_chunk = 0;  // by the stream's thread
    std::atomic<bool> is_aborted{false};
    std::atomic<NcclResult> error{NcclResult::success};
    std::atomic<int> n_pending{0}, n_in_graphs{0}, n_begun{0};
    std::atomic<int> n_poll_in_progress{0};
    bool is_finalizing = false;

    bool is_complete() const { return board && board->n_joined.load() >= n_rank; }
};

/// A message of a group, as far as it has come.
struct Transfer {
    bool is_send;
    int peer;
    unsigned char* data;
    int64_t n_byte;
    int64_t done = 0;
};

/// The group that is open.
struct Group {
    bool is_open = false;
    NcclComm* comm = nullptr;
    void* stream = nullptr;
    std::vector<Transfer> transfers;
};

/// Nesting of groups in the calling thread, as in NCCL.
thread_local Group group;

struct World {
    std::mutex mutex;
    NcclFaults faults;
    std::function<bool()> is_current = [] { return true; };
    std::map<NcclComm*, std::shared_ptr<Comm>> comms;
    std::map<std::string, int> n_call;
    std::string misuse;
    int n_id = 0, n_enqueued = 0, n_aborting = 0;
    uintptr_t n_comm = 0;
};
World* world = nullptr;

/// Begins a call that works on a device. The caller holds the mutex.
void begin(const char* function) {
    if (!world->is_current()) world->misuse += std::string(function) + " on another device\n";
}

/// The caller holds the mutex.
std::shared_ptr<Comm> find(NcclComm* handle, const char* function) {
    const auto found = world->comms.find(handle);
    if (found != world->comms.end()) return found->second;
    world->misuse += std::string(function) + " of a communicator that is gone\n";
    return nullptr;
}

/// Until `is_met` or the abort; false if aborted. Other ranks' deaths become an error, which only
/// an abort ends, as a kernel of NCCL's would spin on.
template <class Condition>
bool wait_until(Comm& comm, const Condition& is_met) {
    while (!is_met()) {
        if (comm.is_aborted) return false;
        for (int r = 0; r < comm.n_rank; ++r)
            if (r != comm.rank && comm.board->slots[r].is_dead)
                comm.error = NcclResult::remote_error;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return !comm.is_aborted;
}

bool wait_for_abort(Comm& comm) {
    return wait_until(comm, [] { return false; });
}

/// An operation on a stream or in a graph: ncclCommFinalize waits for both, ncclCommAbort for
/// graphs.
struct Pending {
    Pending(std::shared_ptr<Comm> of, bool is_recorded)
        : comm(std::move(of)), is_in_graph(is_recorded) {
        ++comm->n_pending;
        comm->n_in_graphs += is_in_graph;
    }
    ~Pending() {
        comm->n_in_graphs -= is_in_graph;
        --comm->n_pending;
    }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    const std::shared_ptr<Comm> comm;
    const bool is_in_graph;
};

struct Operation {
    void* values;
    int64_t count;
    NcclType type;
    NcclOperation operation;
    bool is_gather = false;  // values (ranks, count)
    int64_t width() const { return type == NcclType::float32 ? 4 : type == NcclType::int8 ? 1 : 8; }
};

template <class T>
void reduce(Comm& comm, T* to, int64_t count, NcclOperation operation) {
    for (int64_t i = 0; i < count; ++i) {
        T all{};
        for (int r = 0; r < comm.n_rank; ++r) {
            T value;
            std::memcpy(&value, comm.board->slots[r].data + i * int64_t{sizeof(T)}, sizeof(T));
            all = r == 0                            ? value
                  : operation == NcclOperation::sum ? all + value
                                                    : std::max(all, value);
        }
        to[i] = all;
    }
}

/// Returns whether all ranks are at the same operation: NCCL has undefined behavior if not.
bool is_agreed(const Comm& comm, const Operation& op) {
    for (int r = 0; r < comm.n_rank; ++r) {
        const Slot& slot = comm.board->slots[r];
        if (slot.count != op.count || slot.type != op.type || slot.operation != op.operation ||
            slot.is_gather != op.is_gather)
            return false;
    }
    return true;
}

/// One chunk of the numbers through the board; false if aborted.
bool exchange(Comm& comm, const Operation& op, int64_t first, int64_t count) {
    Slot& own = comm.board->slots[comm.rank];
    const auto all = [&](std::atomic<int64_t> Slot::*counter, int64_t n) {
        return wait_until(comm, [&comm, counter, n] {
            return std::all_of(comm.board->slots, comm.board->slots + comm.n_rank,
                               [&](const Slot& slot) { return slot.*counter >= n; });
        });
    };
    if (!all(&Slot::n_read, comm.n_chunk)) return false;
    unsigned char* values = static_cast<unsigned char*>(op.values) + first * op.width();
    const int64_t part_bytes = op.count * op.width();
    if (op.is_gather) values += comm.rank * part_bytes;
    std::memcpy(own.data, values, static_cast<size_t>(count * op.width()));
    own.count = op.count;
    own.type = op.type;
    own.operation = op.operation;
    own.is_gather = op.is_gather;
    own.n_written = ++comm.n_chunk;
    if (!all(&Slot::n_written, comm.n_chunk)) return false;
    if (!is_agreed(comm, op)) {
        comm.error = NcclResult::invalid_usage;
        return wait_for_abort(comm);
    }
    if (op.is_gather) {
        for (int r = 0; r < comm.n_rank; ++r)
            std::memcpy(values + (r - comm.rank) * part_bytes, comm.board->slots[r].data,
                        static_cast<size_t>(count * op.width()));
    } else if (op.type == NcclType::float32)
        reduce(comm, reinterpret_cast<float*>(values), count, op.operation);
    else
        reduce(comm, reinterpret_cast<int64_t*>(values), count, op.operation);
    own.n_read = comm.n_chunk;
    return true;
}

/// The next chunk, if the peer is ready for it or has brought it; false for sizes that differ.
bool advance(Comm& comm, Transfer& t) {
    Channel& channel = t.is_send ? comm.board->slots[comm.rank].to[t.peer]
                                 : comm.board->slots[t.peer].to[comm.rank];
    const auto n = static_cast<size_t>(std::min(int64_t{chunk_bytes}, t.n_byte - t.done));
    const bool is_full = channel.n_written > channel.n_read;
    if (n == 0 || is_full == t.is_send) return true;
    if (t.is_send) {
        channel.message_bytes = t.n_byte;
        std::memcpy(channel.data, t.data + t.done, n);
        ++channel.n_written;
    } else {
        if (channel.message_bytes != t.n_byte) return false;
        std::memcpy(t.data + t.done, channel.data, n);
        ++channel.n_read;
    }
    t.done += static_cast<int64_t>(n);
    return true;
}

/// Messages of one pair go one after the other, all others side by side.
void carry_out(Comm& comm, std::vector<Transfer> transfers) {
    wait_until(comm, [&] {
        for (size_t i = 0; i < transfers.size(); ++i) {
            Transfer& t = transfers[i];
            const bool is_first =
                std::none_of(transfers.begin(), transfers.begin() + static_cast<ptrdiff_t>(i),
                             [&](const Transfer& earlier) {
                                 return earlier.is_send == t.is_send && earlier.peer == t.peer &&
                                        earlier.done < earlier.n_byte;
                             });
            if (is_first && !advance(comm, t)) comm.error = NcclResult::invalid_usage;
        }
        return comm.error == NcclResult::success &&
               std::all_of(transfers.begin(), transfers.end(),
                           [](const Transfer& t) { return t.done == t.n_byte; });
    });
}

/// Returns whether the operation that begins on the stream's thread ends here.
bool is_faulty(Comm& comm, const NcclFaults& faults) {
    const int index = comm.n_begun++;
    if (index == faults.failing_operation) {
        comm.error = NcclResult::unhandled_cuda_error;
    } else if (index == faults.dying_operation) {
        comm.board->slots[comm.rank].is_dead = faults.is_death_heard;
        comm.error = NcclResult::system_error;
    } else {
        return false;
    }
    wait_for_abort(comm);
    return true;
}

void carry_out(Comm& comm, const Operation& op) {
    const int64_t step = int64_t{chunk_bytes} / op.width();
    for (int64_t first = 0; first < op.count; first += step)
        if (!exchange(comm, op, first, std::min(step, op.count - first))) return;
}

emulation::Queue* queue_of(kernels::Stream stream) {
    return stream ? static_cast<emulation::Queue*>(stream) : emulation::null_queue.load();
}

void enqueue(kernels::Stream stream, std::function<void()> work) {
    emulation::Queue* const queue = queue_of(stream);
    if (queue)
        queue->enqueue(std::move(work));
    else
        work();
}

// The functions of the table.

NcclResult get_version(int* version) {
    *version = world->faults.version;
    return NcclResult::success;
}

NcclResult get_unique_id(NcclUniqueId* id) {
    std::lock_guard lock(world->mutex);
    if (world->faults.unique_id != NcclResult::success) return world->faults.unique_id;
    std::snprintf(id->internal, sizeof id->internal, "/surrogate-fake-nccl-%d-%d", getpid(),
                  world->n_id++);
    return NcclResult::success;
}

bool is_well_configured(const NcclConfig& config) {
    return config.size == sizeof(NcclConfig) && config.magic == 0xcafebeef &&
           config.version >= 21700 && config.blocking == 0;
}

NcclResult comm_init_rank_config(NcclComm** handle, int n_rank, NcclUniqueId id, int rank,
                                 NcclConfig* config) {
    std::lock_guard lock(world->mutex);
    ++world->n_call["init"];
    begin("ncclCommInitRankConfig");
    if (!is_well_configured(*config)) world->misuse += "a configuration that is not ours\n";
    if (world->faults.init != NcclResult::success) return world->faults.init;
    auto comm = std::make_shared<Comm>();
    comm->name = id.internal;
    comm->rank = rank;
    comm->n_rank = n_rank;
    comm->board = map_board(id.internal, O_CREAT | O_RDWR);
    if (!comm->board || n_rank > max_rank) return NcclResult::system_error;
    if (!world->faults.is_missing_at_init) ++comm->board->n_joined;
    auto* made = reinterpret_cast<NcclComm*>(++world->n_comm);
    world->comms[made] = std::move(comm);
    *handle = made;
    return NcclResult::in_progress;
}

NcclResult state_of(Comm& comm) {
    if (!comm.is_complete()) return NcclResult::in_progress;
    if (world->faults.late_init != NcclResult::success) return world->faults.late_init;
    if (comm.error != NcclResult::success) return comm.error;
    if (comm.n_poll_in_progress > 0) {
        --comm.n_poll_in_progress;
        return NcclResult::in_progress;
    }
    if (comm.is_finalizing && (comm.n_pending > 0 || world->faults.never_finalizes))
        return NcclResult::in_progress;
    return NcclResult::success;
}

NcclResult comm_get_async_error(NcclComm* handle, NcclResult* error) {
    std::lock_guard lock(world->mutex);
    const auto comm = find(handle, "ncclCommGetAsyncError");
    if (!comm) return NcclResult::invalid_argument;
    *error = state_of(*comm);
    return NcclResult::success;
}

/// The caller holds the mutex. work: an Operation or messages.
template <class Work>
NcclResult enqueue_operation(const std::string& function, const Work& work, NcclComm* handle,
                             void* stream, std::unique_lock<std::mutex>& lock) {
    begin(function.c_str());
    const auto comm = find(handle, function.c_str());
    if (!comm) return NcclResult::invalid_argument;
    if (!comm->is_complete() || comm->n_poll_in_progress > 0)
        world->misuse += function + " while an earlier call is in progress\n";
    if (world->n_enqueued++ == world->faults.failing_enqueue) return NcclResult::system_error;
    const NcclFaults faults = world->faults;
    comm->n_poll_in_progress = faults.polls_of_enqueue;
    lock.unlock();
    const emulation::Queue* const queue = queue_of(stream);
    const auto pending = std::make_shared<const Pending>(comm, queue && queue->is_recording());
    enqueue(stream, [pending, work, faults] {
        if (!is_faulty(*pending->comm, faults)) carry_out(*pending->comm, work);
    });
    return faults.polls_of_enqueue > 0 ? NcclResult::in_progress : NcclResult::success;
}

NcclResult all_reduce(const void* from, void* to, size_t count, NcclType type,
                      NcclOperation operation, NcclComm* handle, void* stream) {
    std::unique_lock lock(world->mutex);
    ++world->n_call["all_reduce"];
    if (from != to) return NcclResult::invalid_argument;
    const Operation op{to, static_cast<int64_t>(count), type, operation};
    return enqueue_operation("ncclAllReduce", op, handle, stream, lock);
}

NcclResult all_gather(const void* from, void* to, size_t count_of_rank, NcclType type,
                      NcclComm* handle, void* stream) {
    std::unique_lock lock(world->mutex);
    ++world->n_call["all_gather"];
    Operation op{to, static_cast<int64_t>(count_of_rank), type, NcclOperation::sum, true};
    const auto comm = world->comms.find(handle);
    const int64_t rank = comm == world->comms.end() ? 0 : comm->second->rank;
    if (from != static_cast<char*>(to) + rank * op.count * op.width())
        return NcclResult::invalid_argument;
    return enqueue_operation("ncclAllGather", op, handle, stream, lock);
}

NcclResult group_start() {
    std::lock_guard lock(world->mutex);
    if (group.is_open) world->misuse += "ncclGroupStart in a group\n";
    group = {};
    group.is_open = true;
    return NcclResult::success;
}

NcclResult add_transfer(const char* function, const Transfer& transfer, NcclComm* handle,
                        void* stream) {
    std::lock_guard lock(world->mutex);
    begin(function);
    const auto comm = find(handle, function);
    if (!comm) return NcclResult::invalid_argument;
    if (!group.is_open) world->misuse += std::string(function) + " outside of a group\n";
    if (transfer.peer < 0 || transfer.peer >= comm->n_rank || transfer.peer == comm->rank)
        return NcclResult::invalid_argument;
    group.comm = handle;
    group.stream = stream;
    group.transfers.push_back(transfer);
    return NcclResult::success;
}

NcclResult send(const void* from, size_t count, NcclType, int peer, NcclComm* handle,
                void* stream) {
    auto* data = static_cast<unsigned char*>(const_cast<void*>(from));
    return add_transfer("ncclSend", {true, peer, data, static_cast<int64_t>(count)}, handle,
                        stream);
}

NcclResult recv(void* to, size_t count, NcclType, int peer, NcclComm* handle, void* stream) {
    auto* data = static_cast<unsigned char*>(to);
    return add_transfer("ncclRecv", {false, peer, data, static_cast<int64_t>(count)}, handle,
                        stream);
}

NcclResult group_end() {
    std::unique_lock lock(world->mutex);
    ++world->n_call["group"];
    if (!group.is_open) world->misuse += "ncclGroupEnd without a group\n";
    const Group ended = std::exchange(group, {});
    if (ended.transfers.empty()) return NcclResult::success;
    return enqueue_operation("ncclGroupEnd", ended.transfers, ended.comm, ended.stream, lock);
}

NcclResult comm_finalize(NcclComm* handle) {
    std::lock_guard lock(world->mutex);
    ++world->n_call["finalize"];
    begin("ncclCommFinalize");
    const auto comm = find(handle, "ncclCommFinalize");
    if (!comm) return NcclResult::invalid_argument;
    comm->is_finalizing = true;
    return NcclResult::in_progress;
}

NcclResult comm_destroy(NcclComm* handle) {
    std::lock_guard lock(world->mutex);
    ++world->n_call["destroy"];
    begin("ncclCommDestroy");
    const auto comm = find(handle, "ncclCommDestroy");
    if (!comm) return NcclResult::invalid_argument;
    if (!comm->is_finalizing) world->misuse += "ncclCommDestroy before ncclCommFinalize\n";
    world->comms.erase(handle);
    return NcclResult::success;
}

/// As NCCL 2.19 to 2.30 (commReclaim in init.cc): kernels on streams end by the abort flag, and the
/// calling thread waits until no graph holds operations of the communicator any more.
NcclResult comm_abort(NcclComm* handle) {
    std::unique_lock lock(world->mutex);
    ++world->n_call["abort"];
    begin("ncclCommAbort");
    const auto comm = find(handle, "ncclCommAbort");
    if (!comm) return NcclResult::invalid_argument;
    comm->is_aborted = true;
    world->comms.erase(handle);
    ++world->n_aborting;
    const auto start = std::chrono::steady_clock::now();
    bool is_late = false;
    while (comm->n_in_graphs > 0 && !is_late) {
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        is_late = std::chrono::steady_clock::now() - start > abort_limit;
        lock.lock();
    }
    if (is_late) world->misuse += "ncclCommAbort while a graph holds operations\n";
    --world->n_aborting;
    return NcclResult::in_progress;  // as newer versions answer for communicators like ours
}

const char* get_error_string(NcclResult result) {
    switch (result) {
        case NcclResult::success: return "no error";
        case NcclResult::unhandled_cuda_error: return "unhandled cuda error";
        case NcclResult::system_error: return "unhandled system error";
        case NcclResult::internal_error: return "internal error";
        case NcclResult::invalid_argument: return "invalid argument";
        case NcclResult::invalid_usage: return "invalid usage";
        case NcclResult::remote_error: return "remote process exited or there was a network error";
        case NcclResult::in_progress: return "NCCL operation in progress";
    }
    return "unknown result code";
}

const char* get_last_error(NcclComm*) {
    return "words of the fake";
}

}  // namespace

FakeNccl::FakeNccl() {
    if (world) std::abort();
    world = new World;
}

FakeNccl::~FakeNccl() {
    const auto is_aborting = [] {
        const std::lock_guard lock(world->mutex);
        return world->n_aborting > 0;
    };
    while (is_aborting()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    delete std::exchange(world, nullptr);
}

const NcclApi& FakeNccl::api() const {
    static const NcclApi table{get_version,
                               get_unique_id,
                               comm_init_rank_config,
                               comm_get_async_error,
                               comm_finalize,
                               comm_destroy,
                               comm_abort,
                               all_reduce,
                               all_gather,
                               send,
                               recv,
                               group_start,
                               group_end,
                               get_error_string,
                               get_last_error};
    return table;
}

void FakeNccl::set(const NcclFaults& faults) {
    std::lock_guard lock(world->mutex);
    world->faults = faults;
}

void FakeNccl::require_current(std::function<bool()> is_current) {
    std::lock_guard lock(world->mutex);
    world->is_current = std::move(is_current);
}

int FakeNccl::n_call(const std::string& name) const {
    std::lock_guard lock(world->mutex);
    const auto found = world->n_call.find(name);
    return found == world->n_call.end() ? 0 : found->second;
}

int FakeNccl::n_live() const {
    std::lock_guard lock(world->mutex);
    return static_cast<int>(world->comms.size()) + world->n_aborting;
}

std::string FakeNccl::misuse() const {
    std::lock_guard lock(world->mutex);
    return world->misuse;
}

}  // namespace surrogate::test
