// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/base/error.hpp"

namespace surrogate::impl {

using kernels::Error;
using kernels::Status;

/// A failure whose cause another rank knows: NaN that came from there. An agreement takes the error
/// of a rank that knows more, if there is one.
class EchoedError : public Error {
public:
    using Error::Error;
};

/// Communication between the ranks of a context, and the interface where tests inject delays and
/// faults. Implementations: one rank (here), MPI (transport/mpi_communicator.hpp). All functions
/// are collective and blocking, except rank(), size(), transport(), the counters, and those whose
/// comment says otherwise. share/doc/develop/communication.md lists them and the rules of their
/// use.
///
/// Failures of the transport throw Error(mpi) and leave the communicator broken: later calls throw
/// Error(broken) at once. Counts are 64 bit; an implementation that must narrow them splits the
/// message or throws Error(limit) before anything is sent.
class Communicator {
public:
    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual const char* transport() const = 0;  ///< "none", "MPI"

    // Reductions in place: every rank ends with the same numbers. For floats the order of a sum is
    // the transport's; sums of int64 are exact in any order. NaN survives sums, not maxima.
    void all_reduce_max(std::span<float> values);
    void all_reduce_max(std::span<double> values);
    void all_reduce_sum(std::span<float> values);
    void all_reduce_sum(std::span<double> values);
    void all_reduce_sum(std::span<int64_t> values);
    void all_reduce_max(std::span<int64_t> values);

    /// Begins a sum over the ranks, while this rank computes and makes other calls. All ranks begin
    /// reductions in the same order among their other calls, and may finish them in any. `values`
    /// belong to a reduction from its beginning until finish_reduction() of the returned number;
    /// beginning does not wait. After a failure of the transport, values may still be written to:
    /// such memory must stay.
    int64_t begin_reduce_sum(std::span<float> values);
    int64_t begin_reduce_sum(std::span<double> values);
    int64_t begin_reduce_sum(std::span<int64_t> values);
    int64_t begin_reduce_max(std::span<int64_t> values);
    void finish_reduction(int64_t begun) { do_finish_reduction(begun); }
    /// Allocates for n reductions in progress, of up to n_value values each: beginning then does
    /// not allocate. Local; throws bad_alloc.
    void reserve_reductions(int64_t n, int64_t n_value) { do_reserve_reductions(n, n_value); }

    /// Sends n bytes from rank `root` to all.
    void broadcast(void* data, int64_t n_byte, int root);

    /// Gathers every rank's `n_byte` bytes, in rank order, on every rank. to (size() * n_byte).
    void all_gather(const void* from, void* to, int64_t n_byte);

    /// Gathers n_bytes[r] >= 0 bytes from each rank r on every rank. n_bytes (size()) is equal on
    /// all ranks; to (sum of n_bytes). from and to do not overlap. Does not allocate.
    void all_gather_v(const void* from, void* to, std::span<const int64_t> n_bytes);

    /// Sends one number to every rank: to_each[r] goes to rank r, from_each[r] comes from there;
    /// (size()) both. Serves for the counts of an all_to_all() that receivers do not have. Does not
    /// allocate.
    void all_to_all_counts(std::span<const int64_t> to_each, std::span<int64_t> from_each);

    /// Sends rows of row_bytes bytes: n_send[r] rows to rank r, taken from `from` in rank order;
    /// n_receive[r] rows from rank r, stored to `to` in rank order. Counts (size()).
    void all_to_all(const void* from, std::span<const int64_t> n_send, void* to,
                    std::span<const int64_t> n_receive, int64_t row_bytes);
    /// Allocates what a later all_to_all() of so many rows, or fewer, needs besides the rows: long
    /// messages are cut into pieces. It then does not allocate, and cannot fail halfway. Local;
    /// throws bad_alloc.
    virtual void reserve_rows(std::span<const int64_t>, std::span<const int64_t>, int64_t) {}

    /// One message of an exchange between neighbors, to or from `rank`.
    struct Message {
        int rank = 0;
        void* data = nullptr;
        int64_t n_byte = 0;
    };

    /// Begins an exchange between neighbors: all ranks call it, those without messages too. Two
    /// ranks list the messages between them in the same order, with the same sizes. The memory
    /// belongs to the exchange until finish_exchange(); one exchange is under way at a time, and no
    /// other collective meanwhile. begin_exchange() does not wait.
    void begin_exchange(std::span<const Message> send, std::span<const Message> receive);
    void finish_exchange();
    /// Allocates as reserve_rows() for an exchange of these messages, or shorter ones.
    virtual void reserve_messages(std::span<const Message>, std::span<const Message>) {}

    /// Begins an exchange around the ring of ranks: n_send bytes to the next rank, n_receive bytes
    /// from the previous one, which sends as many; 0 is allowed. The last rank is before the first.
    /// The rules of begin_exchange() hold, and finish_exchange() ends it. On one rank the bytes are
    /// copied.
    void begin_ring_shift(const void* to_next, int64_t n_send, void* from_previous,
                          int64_t n_receive);
    /// Allocates for ring shifts of up to n_byte bytes. Local; throws bad_alloc.
    void reserve_ring_shift(int64_t n_byte);

    /// Returns the sum of `value` over the ranks before this one.
    int64_t exclusive_sum(int64_t value);

    // Counters of payload handed over and of collective calls since reset_counters(); agree() does
    // not count.
    int64_t bytes_sent() const { return bytes_sent_; }
    int64_t n_collective() const { return n_collective_; }
    void reset_counters() { bytes_sent_ = n_collective_ = 0; }

    /// Runs fallible local work and lets all ranks share its outcome: if `work` throws on some
    /// ranks, every rank throws Error with the status and the text of the first of them ("rank 2:
    /// ..."); of those that threw an EchoedError only if there are no others. One reduction of
    /// status, one broadcast if something failed. `work` must not communicate, unless it does so
    /// whatever fails. This is how every collective function of the library begins.
    template <class Work>
    void agree(const Work& work) {
        run_agreed(&work, [](const void* context) { (*static_cast<const Work*>(context))(); });
    }

protected:
    enum class Type { float32, float64, int64 };
    enum class Reduction { max, sum };
    virtual void do_all_reduce(void* data, int64_t count, Type type, Reduction reduction) = 0;
    virtual void do_broadcast(void* data, int64_t n_byte, int root) = 0;
    virtual void do_all_gather(const void* from, void* to, int64_t n_byte) = 0;
    virtual void do_all_gather_v(const void* from, void* to, std::span<const int64_t> n_bytes) = 0;
    virtual void do_all_to_all_counts(const int64_t* to_each, int64_t* from_each) = 0;
    virtual void do_all_to_all(const void* from, std::span<const int64_t> n_send, void* to,
                               std::span<const int64_t> n_receive, int64_t row_bytes) = 0;
    virtual void do_begin_exchange(std::span<const Message> send,
                                   std::span<const Message> receive) = 0;
    virtual void do_finish_exchange() = 0;
    virtual int64_t do_begin_reduction(void* data, int64_t count, Type type,
                                       Reduction reduction) = 0;
    virtual void do_finish_reduction(int64_t begun) = 0;
    virtual void do_reserve_reductions(int64_t, int64_t) {}

private:
    // Not a std::function, which may take memory, and fail, before anybody listens.
    void run_agreed(const void* context, void (*work)(const void*));
    void count(int64_t n_byte) {
        bytes_sent_ += n_byte;
        ++n_collective_;
    }
    int64_t bytes_sent_ = 0;
    int64_t n_collective_ = 0;
};

/// Makes a communicator of one rank, without transport.
std::unique_ptr<Communicator> self_communicator();

}  // namespace surrogate::impl
