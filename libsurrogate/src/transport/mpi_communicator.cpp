// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/transport/mpi_communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "libsurrogate/src/transport/mpi_library.hpp"

namespace surrogate::impl {

namespace {

/// Largest count handed to one MPI call.
constexpr int64_t max_count = std::numeric_limits<int>::max() / 2;

/// "MPI_Bcast failed: MPI_ERR_OTHER: known error not in list; other ranks may wait .."
std::string failure_text(const char* call, int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return std::string(call) + " failed: " + text +
           "; other ranks may wait in this call for ever: end the job by MPI_Abort";
}

/// Return codes of MPI are checked here and in MpiCommunicator::call() only.
void check_mpi(int code, const char* call) {
    if (code != MPI_SUCCESS) throw Error(Status::mpi, failure_text(call, code));
}

class MpiCommunicator final : public Communicator {
public:
    MpiCommunicator() = default;
    /// Takes no memory of its own: a rank that has none must still hear of the others, and they of
    /// it.
    MpiCommunicator(MPI_Comm comm, int64_t piece)
        : piece_(std::clamp<int64_t>(piece, 1, max_count)) {
        check_mpi(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
        check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
        check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
    }
    // Sends no message. A broken communicator stays until the end of the program, since freeing it
    // may wait for other ranks.
    ~MpiCommunicator() override {
        if (comm_ != MPI_COMM_NULL && !failed_call_ && !is_mpi_finalized()) MPI_Comm_free(&comm_);
    }
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    const char* transport() const override { return "MPI"; }
    MPI_Comm comm() const { return comm_; }

    void take_over(MpiCommunicator& other) noexcept {
        comm_ = std::exchange(other.comm_, MPI_COMM_NULL);
        rank_ = other.rank_;
        size_ = other.size_;
        piece_ = other.piece_;
        counts_ = std::move(other.counts_);
        offsets_ = std::move(other.offsets_);
    }
    /// Collective. A failure breaks this communicator, too: others may wait in it.
    Placement find_placement() {
        require_usable();
        constexpr int n_word = 16;  // 1024 cores
        uint64_t own[n_word], all[n_word];
        process_cores(own, n_word);

        MPI_Comm node = MPI_COMM_NULL;
        call(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
             "MPI_Comm_split_type");
        Placement placement;
        call(MPI_Comm_size(node, &placement.ranks_on_node), "MPI_Comm_size");
        call(MPI_Allreduce(own, all, n_word, MPI_UINT64_T, MPI_BOR, node), "MPI_Allreduce");
        call(MPI_Comm_free(&node), "MPI_Comm_free");

        placement.cores_of_rank = count_bits(own, n_word);
        placement.cores_on_node = count_bits(all, n_word);
        return placement;
    }
    /// Counts and offsets of all_gather_v().
    void reserve_counts() {
        counts_.resize(static_cast<size_t>(size_));
        offsets_.resize(static_cast<size_t>(size_));
    }

protected:
    void do_all_reduce(void* data, int64_t count, Type type, Reduction reduction) override {
        require_usable();
        in_pieces(count, [&](int64_t done, int n) {
            call(MPI_Allreduce(MPI_IN_PLACE, static_cast<char*>(data) + done * width_of(type), n,
                               mpi_type_of(type), reduction == Reduction::max ? MPI_MAX : MPI_SUM,
                               comm_),
                 "MPI_Allreduce");
        });
    }

    int64_t do_begin_reduction(void* data, int64_t count, Type type, Reduction reduction) override {
        require_usable();
        ++n_begun_;
        in_pieces(count, [&](int64_t done, int n) {
            reductions_.push_back({n_begun_, MPI_REQUEST_NULL});
            call(MPI_Iallreduce(MPI_IN_PLACE, static_cast<char*>(data) + done * width_of(type), n,
                                mpi_type_of(type), reduction == Reduction::max ? MPI_MAX : MPI_SUM,
                                comm_, &reductions_.back().request),
                 "MPI_Iallreduce");
        });
        return n_begun_;
    }

    void do_finish_reduction(int64_t begun) override {
        require_usable();
        for (Begun& piece : reductions_) {
            if (piece.number == begun)
                call(MPI_Wait(&piece.request, MPI_STATUS_IGNORE), "MPI_Wait");
        }
        std::erase_if(reductions_, [&](const Begun& piece) { return piece.number == begun; });
    }

    void do_reserve_reductions(int64_t n, int64_t n_value) override {
        const int64_t room = std::ssize(reductions_) + n * n_piece(n_value);
        reductions_.reserve(static_cast<size_t>(room));
    }

    void do_broadcast(void* data, int64_t n_byte, int root) override {
        require_usable();
        in_pieces(n_byte, [&](int64_t done, int n) {
            call(MPI_Bcast(static_cast<char*>(data) + done, n, MPI_BYTE, root, comm_), "MPI_Bcast");
        });
    }

    void do_all_gather(const void* from, void* to, int64_t n_byte) override {
        require_usable();
        if (n_byte > max_count) {
            throw Error(Status::limit, "all-gather of " + std::to_string(n_byte) +
                                           " bytes a rank exceeds " + std::to_string(max_count));
        }
        const int n = static_cast<int>(n_byte);
        call(MPI_Allgather(from, n, MPI_BYTE, to, n, MPI_BYTE, comm_), "MPI_Allgather");
    }

    // MPI_Allgatherv has int offsets. Where the sum of all bytes is too large for them, the single
    // messages are long and one broadcast a rank costs little more.
    void do_all_gather_v(const void* from, void* to, std::span<const int64_t> n_bytes) override {
        require_usable();
        if (std::accumulate(n_bytes.begin(), n_bytes.end(), int64_t{0}) > piece_) {
            gather_by_broadcasts(from, to, n_bytes);
            return;
        }
        for (size_t rank = 0; rank < n_bytes.size(); ++rank) {
            counts_[rank] = static_cast<int>(n_bytes[rank]);
            offsets_[rank] = rank == 0 ? 0 : offsets_[rank - 1] + counts_[rank - 1];
        }
        call(MPI_Allgatherv(from, counts_[static_cast<size_t>(rank_)], MPI_BYTE, to, counts_.data(),
                            offsets_.data(), MPI_BYTE, comm_),
             "MPI_Allgatherv");
    }

    void do_all_to_all_counts(const int64_t* to_each, int64_t* from_each) override {
        require_usable();
        call(MPI_Alltoall(to_each, 1, MPI_INT64_T, from_each, 1, MPI_INT64_T, comm_),
             "MPI_Alltoall");
    }

    // Point-to-point instead of MPI_Alltoallv: its int displacements would limit a rank to 2 GB of
    // rows, and most partitions talk to few ranks only.
    void do_all_to_all(const void* from, std::span<const int64_t> n_send, void* to,
                       std::span<const int64_t> n_receive, int64_t row_bytes) override {
        require_usable();
        rows_.clear();
        auto* receive = static_cast<char*>(to);
        auto* send = static_cast<const char*>(from);
        for (int other = 0; other < size_; ++other) {
            const int64_t n_byte = n_receive[static_cast<size_t>(other)] * row_bytes;
            post_receive(rows_, receive, n_byte, other, row_tag);
            receive += n_byte;
        }
        for (int other = 0; other < size_; ++other) {
            const int64_t n_byte = n_send[static_cast<size_t>(other)] * row_bytes;
            post_send(rows_, send, n_byte, other, row_tag);
            send += n_byte;
        }
        wait_for(rows_);
    }

    void reserve_rows(std::span<const int64_t> n_send, std::span<const int64_t> n_receive,
                      int64_t row_bytes) override {
        int64_t n = 0;
        for (const auto& rows : {n_send, n_receive}) {
            for (int64_t n_row : rows) n += n_piece(n_row * row_bytes);
        }
        rows_.requests.reserve(static_cast<size_t>(n));
    }

    void reserve_messages(std::span<const Message> send,
                          std::span<const Message> receive) override {
        int64_t n = 0;
        for (const auto& messages : {send, receive}) {
            for (const Message& message : messages) n += n_piece(message.n_byte);
        }
        exchange_.requests.reserve(static_cast<size_t>(n));
    }

    void do_begin_exchange(std::span<const Message> send,
                           std::span<const Message> receive) override {
        require_usable();
        exchange_.clear();
        for (const Message& message : receive) {
            post_receive(exchange_, static_cast<char*>(message.data), message.n_byte, message.rank,
                         exchange_tag);
        }
        for (const Message& message : send) {
            post_send(exchange_, static_cast<const char*>(message.data), message.n_byte,
                      message.rank, exchange_tag);
        }
    }

    void do_finish_exchange() override {
        require_usable();
        wait_for(exchange_);
    }

private:
    static constexpr int row_tag = 1;
    static constexpr int exchange_tag = 2;

    /// A piece of a reduction that was begun.
    struct Begun {
        int64_t number;
        MPI_Request request;
    };

    static MPI_Datatype mpi_type_of(Type type) {
        return type == Type::float32 ? MPI_FLOAT : type == Type::float64 ? MPI_DOUBLE : MPI_INT64_T;
    }
    static int64_t width_of(Type type) { return type == Type::float32 ? 4 : 8; }

    int64_t n_piece(int64_t n_byte) const { return (n_byte + piece_ - 1) / piece_; }

    void gather_by_broadcasts(const void* from, void* to, std::span<const int64_t> n_bytes) {
        char* next = static_cast<char*>(to);
        for (int root = 0; root < size_; ++root) {
            const int64_t n_byte = n_bytes[static_cast<size_t>(root)];
            if (root == rank_ && n_byte > 0) std::memcpy(next, from, static_cast<size_t>(n_byte));
            do_broadcast(next, n_byte, root);
            next += n_byte;
        }
    }

    /// Calls body(done, n) for every piece of `count` bytes or elements. Both sides of a message
    /// cut alike.
    template <class Body>
    void in_pieces(int64_t count, const Body& body) const {
        for (int64_t done = 0; done < count; done += piece_)
            body(done, static_cast<int>(std::min(count - done, piece_)));
    }

    /// Messages of one call, in the order in which they were posted: receives come first.
    struct Posted {
        std::vector<MPI_Request> requests;
        size_t n_receive = 0;

        void clear() {
            requests.clear();
            n_receive = 0;
        }
    };

    void post_receive(Posted& posted, char* to, int64_t n_byte, int rank, int tag) {
        in_pieces(n_byte, [&](int64_t done, int n) {
            MPI_Request& posted_request = posted.requests.emplace_back(MPI_REQUEST_NULL);
            ++posted.n_receive;
            MPI_Request request = MPI_REQUEST_NULL;  // undefined if the call fails
            call(MPI_Irecv(to + done, n, MPI_BYTE, rank, tag, comm_, &request), "MPI_Irecv");
            posted_request = request;
        });
    }
    void post_send(Posted& posted, const char* from, int64_t n_byte, int rank, int tag) {
        in_pieces(n_byte, [&](int64_t done, int n) {
            MPI_Request& posted_request = posted.requests.emplace_back(MPI_REQUEST_NULL);
            MPI_Request request = MPI_REQUEST_NULL;
            call(MPI_Isend(from + done, n, MPI_BYTE, rank, tag, comm_, &request), "MPI_Isend");
            posted_request = request;
        });
    }
    void wait_for(Posted& posted) {
        call(MPI_Waitall(static_cast<int>(posted.requests.size()), posted.requests.data(),
                         MPI_STATUSES_IGNORE),
             "MPI_Waitall");
        posted.clear();
    }

    /// Ends the messages that are still posted when a call fails, because callers free their memory
    /// while the error propagates. Receives are canceled, which is local. A message that has begun
    /// to arrive or to leave cannot be canceled and gets a short time to complete: without a limit,
    /// this rank would wait for a rank that may have failed, too. Reductions cannot be canceled at
    /// all; their memory stays (begin_reduce_sum()).
    static void take_back(Posted& posted) {
        if (posted.requests.empty()) return;
        for (size_t i = 0; i < posted.n_receive; ++i) {
            MPI_Request& request = posted.requests[i];
            if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
        }
        const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
        int is_over = 0, code = MPI_SUCCESS;
        while (code == MPI_SUCCESS && !is_over && std::chrono::steady_clock::now() < limit)
            code = MPI_Testall(static_cast<int>(posted.requests.size()), posted.requests.data(),
                               &is_over, MPI_STATUSES_IGNORE);
        posted.clear();
    }

    void require_usable() const {
        if (failed_call_) throw Error(Status::broken, failure_text(failed_call_, failed_code_));
        if (is_mpi_finalized()) {
            throw Error(Status::invalid_argument,
                        "MPI is already finalized; the context can only be destroyed");
        }
    }
    /// Checks the return code of a call on this communicator. A failure breaks the communicator
    /// before the error is thrown.
    void call(int code, const char* name) {
        if (code == MPI_SUCCESS) return;
        failed_call_ = name;
        failed_code_ = code;
        take_back(rows_);
        take_back(exchange_);
        throw Error(Status::mpi, failure_text(name, code));
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 1;
    const char* failed_call_ = nullptr;  // the first one; null: not broken
    int failed_code_ = MPI_SUCCESS;
    int64_t piece_ = max_count;  // longest part of a message, reduction or broadcast
    // Buffers of one call, reserved at planning: runs do not allocate.
    Posted rows_, exchange_;
    std::vector<Begun> reductions_;  // under way
    int64_t n_begun_ = 0;
    std::vector<int> counts_, offsets_;  // (size): bytes of each rank
};

/// Throws invalid_argument if MPI was initialized for calls from one thread, and this is another.
void require_allowed_thread() {
    int level = MPI_THREAD_MULTIPLE, is_main = 1;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    check_mpi(MPI_Is_thread_main(&is_main), "MPI_Is_thread_main");
    if (is_main || level >= MPI_THREAD_SERIALIZED) return;
    throw Error(
        Status::invalid_argument,
        std::string("MPI was initialized with ") +
            (level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED") +
            ", and the context is created in another thread than the one that did so; create "
            "and use it there, or initialize with MPI_THREAD_SERIALIZED");
}

}  // namespace

std::unique_ptr<Communicator> mpi_communicator(MPI_Comm comm, int64_t longest_piece) {
    require_own_mpi();
    if (comm == MPI_COMM_NULL)
        throw Error(Status::invalid_argument, "the communicator is MPI_COMM_NULL");
    int is_inter = 0;
    check_mpi(MPI_Comm_test_inter(comm, &is_inter), "MPI_Comm_test_inter");
    if (is_inter) {
        throw Error(Status::invalid_argument,
                    "the communicator is an intercommunicator; an intracommunicator is needed");
    }
    MpiCommunicator ranks(comm, longest_piece);
    std::unique_ptr<MpiCommunicator> created;
    ranks.agree([&] {
        require_allowed_thread();
        created = std::make_unique<MpiCommunicator>();
        ranks.reserve_counts();
    });
    created->take_over(ranks);
    return created;
}

MPI_Comm mpi_comm_of(const Communicator& ours) {
    const auto* mpi = dynamic_cast<const MpiCommunicator*>(&ours);
    return mpi ? mpi->comm() : MPI_COMM_NULL;
}

int compare(const Communicator& ours, MPI_Comm comm) {
    require_mpi();
    if (comm == MPI_COMM_NULL)
        throw Error(Status::invalid_argument, "the communicator is MPI_COMM_NULL");
    int result = MPI_UNEQUAL;
    if (const auto* mpi = dynamic_cast<const MpiCommunicator*>(&ours)) {
        check_mpi(MPI_Comm_compare(mpi->comm(), comm, &result), "MPI_Comm_compare");
        return result;
    }
    int size = 0;
    check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
    return size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL;
}

Placement find_placement(Communicator& ranks) {
    return static_cast<MpiCommunicator&>(ranks).find_placement();
}

}  // namespace surrogate::impl
