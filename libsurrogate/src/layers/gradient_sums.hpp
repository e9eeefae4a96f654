// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/gradient_buckets.hpp"
#include "libsurrogate/src/layers/weights.hpp"

namespace surrogate::impl {

/// Summation of the gradients of weights over threads and ranks.
///   single  ranks exchange floats: 4 bytes a parameter
///   real    ranks exchange doubles: 8 bytes a parameter, for plans in double precision
///   exact   bitwise identical for any number of ranks and threads and any order, if the chunks are
///           the same: 16 bytes per parameter, and as much memory per thread
///   none    gradients of weights are not wanted: nothing is summed; no reduce()
enum class GradientOrder { single, real, exact, none };

/// Sums the gradients of a master's weights from chunks of points into one arena on all ranks. A
/// chunk is computed by a program in one piece; if the program is reproducible, the gradients of a
/// chunk are bitwise independent of ranks and threads.
///
/// Exact sums cut every number at fixed places, multiples of 2^(40 j), and add the two uppermost
/// pieces as integers. Which pieces are uppermost is decided by the largest number of a tensor, and
/// what lies more than 40 bits below it is left out; so neither order nor grouping matters. Up to
/// 2^22 chunks a rank and step.
///
/// Gradients are reduced in buckets, always in the same order: a step has `collectives()`
/// nonblocking reductions. If begin() is called before the last backward pass of a step, and the
/// program calls finish_stage() during the pass, the reductions overlap with the pass.
class GradientSums {
public:
    static constexpr int64_t usual_bucket = int64_t{1} << 20;

    /// Allocates all memory. master must outlive it. stages: see GradientBuckets; bucket_bytes: the
    /// least that a bucket sends, if there is as much. Both are the same on all ranks.
    GradientSums(const MasterWeights& master, int n_thread, GradientOrder order,
                 std::span<const int> stages = {}, int64_t bucket_bytes = usual_bucket);
    /// Frees the memory, except memory that a failed transport may still write to.
    ~GradientSums();
    GradientSums(const GradientSums&) = delete;
    GradientSums& operator=(const GradientSums&) = delete;
    /// Reserves buffers in the communicator. Local; throws bad_alloc.
    void reserve(Communicator& comm) const;

    /// Returns false if gradients of weights are not wanted (GradientOrder::none).
    bool is_wanted() const { return order_ != GradientOrder::none; }

    /// Forgets everything before a step. Local.
    void clear();

    /// Returns the arena, of the shape of master.values(), that `thread` adds gradients to.
    /// Elements that were not closed since hold what the thread has added. Empty if gradients of
    /// weights are not wanted; data() is then null.
    std::span<double> open(int thread);
    /// Completes the chunk in elements [begin, end) of the arena: whole tensors and gaps. With
    /// exact sums they are taken over and are zero again; otherwise nothing happens.
    void close(int thread, int64_t begin, int64_t end);
    void close(int thread) { close(thread, 0, size_); }

    /// Returns the sums for one of several programs of a backward pass: its thread t is thread
    /// `first` + t. Programs of different threads may add at the same time. The stages of a program
    /// do not end stages of the pass.
    GradientSums& of_program(int first) { return *parts_[static_cast<size_t>(first)]; }

    /// Marks this rank's gradients as invalid: reduce() then returns false on all ranks. Local.
    void poison() {
        if (whole_)
            whole_->is_bad_[first_thread_] = 1;
        else
            is_poisoned_ = true;
    }

    /// Announces that the next backward pass is the last one before reduce(comm). Completed
    /// gradients may then be reduced immediately, in the same sequence of calls on every rank.
    /// Local.
    void begin(Communicator& comm) { comm_ = &comm; }
    /// Ends a stage of backward; chunks closed in it and before are not opened again. Has no effect
    /// without begin(), or in the last stage, which ends with reduce(). Called between parallel
    /// parts. Collective if begin() was called; it waits for numbers of earlier stages.
    void finish_stage();

    /// Sums over the threads, then over the ranks; total() is then equal on all ranks. Returns
    /// false on all ranks if a number is not finite or a rank has failed. Later chunks belong to
    /// the next step; call clear() before them. Collective.
    bool reduce(Communicator& comm);
    /// Returns the sums, in the memory of open(0).
    std::span<const double> total() const { return {arenas_[0].begin(), arenas_[0].end()}; }
    std::span<double> total() { return open(0); }

    GradientOrder order() const { return order_; }
    /// Returns payload and calls of one step; with GradientOrder::single, one rank alone has none.
    /// n parameters in b buckets of t tensors together: 4 n bytes in b calls, real 8 n in b, exact
    /// 16 n + 8 t + 8 b in 2 b.
    int64_t bytes_sent() const;
    int64_t collectives() const;
    int64_t bytes() const;

private:
    /// Makes a part of `whole`, see of_program().
    GradientSums(GradientSums& whole, size_t thread)
        : master_(whole.master_),
          order_(whole.order_),
          buckets_(whole.buckets_),
          size_(whole.size_),
          whole_(&whole),
          first_thread_(thread) {}

    /// Sums of one thread: a tensor's numbers are upper * 2^(40 top) + lower * 2^(40 (top - 1)).
    struct Pieces {
        kernels::Buffer<int64_t> top;           // (tensor); no_top: nothing yet
        kernels::Buffer<int64_t> upper, lower;  // (size)
    };
    using Bucket = GradientBuckets::Bucket;
    static constexpr int piece_bits = 40;
    static constexpr int64_t no_top = std::numeric_limits<int64_t>::min();
    /// Returns 2^(40 j).
    static double unit(int64_t j) { return std::ldexp(1.0, static_cast<int>(piece_bits * j)); }
    const MasterWeights::Entry& entry_of(const GradientBuckets::Place& place) const {
        return master_.entries()[static_cast<size_t>(place.tensor)];
    }
    void take(Pieces& pieces, size_t tensor, double* from);
    void raise(Pieces& pieces, size_t tensor, int64_t top) const;
    void join_threads(const Bucket& bucket);
    bool travels() const { return order_ != GradientOrder::single || comm_->size() > 1; }
    void send_next();
    void send_floats(size_t b);
    void send_tops(size_t b);
    void send_pieces(size_t b);
    bool receive_floats(size_t b);
    bool receive_pieces(size_t b);
    /// Returns the offset of a bucket's tops in tops_; its flag follows them.
    std::span<int64_t> tops_of(size_t b);

    const MasterWeights& master_;
    GradientOrder order_;
    GradientBuckets buckets_;
    int64_t size_;
    GradientSums* whole_ = nullptr;                     ///< of a part
    size_t first_thread_ = 0;                           ///< of a part
    std::vector<std::unique_ptr<GradientSums>> parts_;  // (n_thread)
    bool is_poisoned_ = false;
    std::vector<kernels::Buffer<double>> arenas_;  // (n_thread); the first holds the total at last
    std::vector<Pieces> pieces_;                   // (n_thread), exact
    std::vector<uint8_t> is_bad_;                  // (n_thread): not finite, or a program failed
    kernels::Buffer<float> floats_;                // single: packed
    kernels::Buffer<double> doubles_;              // real
    kernels::Buffer<int64_t> words_;               // exact: of each bucket upper pieces, lower ones
    kernels::Buffer<int64_t> tops_;                // exact: of each bucket its tops, and a flag

    // State of the current step.
    Communicator* comm_ = nullptr;
    int stage_ = 0;       // stages that have ended
    size_t n_begun_ = 0;  // buckets
    struct Travel {
        int64_t begun = 0;
        bool is_under_way = false;
    };
    std::vector<Travel> travels_;  // (bucket)
    bool is_lost_ = false;         // a reduction was begun and never finished
};

}  // namespace surrogate::impl
