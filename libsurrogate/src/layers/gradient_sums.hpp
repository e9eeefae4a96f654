// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/layers/weights.hpp"

namespace surrogate::impl {

/// How gradients of weights are added up over threads and ranks.
///   single  ranks exchange floats: 4 bytes a parameter
///   real    ranks exchange doubles: 8 bytes a parameter, for plans in double precision
///   exact   the same bits for any number of ranks and threads and any order, as long as the chunks
///           are the same: 16 bytes a parameter, and as much memory a thread
enum class GradientOrder { single, real, exact };

/// Gradients of a master's weights on their way from chunks of points to one arena on all ranks. A
/// chunk is what a program computes in one piece: its gradients have bits that do not depend on
/// ranks or threads, if the program says so of itself.
///
/// Exact sums cut every number at fixed places, multiples of 2^(40 j), and add the two uppermost
/// pieces as integers. Which pieces are uppermost is decided by the largest number of a tensor, and
/// what lies more than 40 bits below it is left out; so neither order nor grouping matters. Up to
/// 2^22 chunks a rank and step.
class GradientSums {
public:
    /// master must outlive it. Takes all memory there is to take.
    GradientSums(const MasterWeights& master, int n_thread, GradientOrder order);

    /// Before a step: forgets everything.
    void clear();

    /// The arena, of the shape of master.values(), that `thread` adds gradients to. Elements that
    /// were not closed since hold what the thread has added.
    std::span<double> open(int thread);
    /// The chunk is complete in elements [begin, end) of the arena: whole tensors and gaps. Exact:
    /// they are taken over and are zero again. Otherwise nothing happens.
    void close(int thread, int64_t begin, int64_t end);
    void close(int thread) { close(thread, 0, size_); }

    /// This rank's gradients are worthless: reduce() then says so on all ranks.
    void poison() { is_poisoned_ = true; }

    /// Joins the threads, then the ranks: total() is the same on all of them. Collective. Returns
    /// false, on all ranks alike, if some number is not finite or a rank was poisoned. Further
    /// chunks after it belong to the next step: call clear().
    bool reduce(Communicator& comm);
    std::span<const double> total() const { return {total_.begin(), total_.end()}; }
    std::span<double> total() { return {total_.begin(), total_.end()}; }

    GradientOrder order() const { return order_; }
    /// Payload and calls of one reduce; with GradientOrder::single, one rank alone has none.
    int64_t bytes_sent() const;
    int64_t collectives() const { return order_ == GradientOrder::exact ? 2 : 1; }
    int64_t bytes() const;

private:
    /// Of one thread: a tensor's numbers are upper * 2^(40 top) + lower * 2^(40 (top - 1)).
    struct Pieces {
        kernels::Buffer<int64_t> top;           // (tensor); no_top: nothing yet
        kernels::Buffer<int64_t> upper, lower;  // (size)
    };
    void take(Pieces& pieces, size_t tensor, double* from);
    void raise(Pieces& pieces, size_t tensor, int64_t top) const;
    void join_threads();
    bool reduce_exact(Communicator& comm);
    bool reduce_floats(Communicator& comm);

    const MasterWeights& master_;
    GradientOrder order_;
    int64_t size_;
    bool is_poisoned_ = false;
    std::vector<kernels::Buffer<double>> arenas_;  // (n_thread)
    std::vector<Pieces> pieces_;                   // (n_thread), exact
    std::vector<uint8_t> is_bad_;                  // (n_thread): met a number that is not finite
    kernels::Buffer<float> sent_;                  // single
    kernels::Buffer<int64_t> words_;               // exact: 2 pieces an element
    kernels::Buffer<double> total_;
};

}  // namespace surrogate::impl
