// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/queue.hpp"
#include "libsurrogate/src/layers/weights.hpp"
#include "libsurrogate/src/train/schedule.hpp"

namespace surrogate::impl {

/// Returns whether weight decay applies to a weight unless the recipe decays all: not to names that
/// end in `bias`, not to weights of norms, which have one axis, and not to embeddings, whose names
/// say so. Source: spec of FLARE, section 7.
bool decays(const MasterWeights::Entry& entry);

/// AdamW, Adam and SGD in double precision on MasterWeights::precise(), and the exponential average
/// of the weights. Step t = 1, 2, .. with gradient g, rate lr:
///   adamw   p *= 1 - lr wd          adam   g += wd p
///   m += (1 - beta1) (g - m)
///   v = beta2 v + (1 - beta2) g^2
///   p -= lr / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
///   sgd     g += wd p,  m = beta1 m + g,  p -= lr m;  nesterov: p -= lr (g + beta1 m)
///   average = d average + (1 - d) p
/// Bitwise reproducible for any number of threads. Source: arXiv:1711.05101; torch.optim.AdamW,
/// torch.optim.SGD.
class Optimizer {
public:
    /// Allocates all memory, including the memory of precise(). master must outlive the object.
    /// fixed: names of weights that are not changed, not even by decay.
    Optimizer(MasterWeights& master, const Recipe& recipe, const kernels::Queue& queue,
              std::span<const std::string> fixed = {});

    /// Multiplies gradients (arena) by `factor`; returns their norm, whose terms are added in one
    /// order.
    double scale(std::span<double> gradients, double factor) const;

    /// Makes one step with gradients (arena), shortened to the recipe's clip if their norm is
    /// `norm`. Weights are as before until MasterWeights::refresh().
    void step(std::span<const double> gradients, double norm, const Rate& rate);

    int64_t n_step() const { return n_step_; }

    /// Arenas, for checkpoints. The second moment of SGD and a missing average are empty.
    std::span<double> weights() const { return master_.precise(); }
    std::span<double> first_moment() { return {first_.begin(), first_.end()}; }
    std::span<double> second_moment() { return {second_.begin(), second_.end()}; }
    std::span<double> average() { return {average_.begin(), average_.end()}; }
    void set_n_step(int64_t n) { n_step_ = n; }

    int64_t bytes() const;

private:
    /// Elements of one tensor that a thread takes at once.
    struct Piece {
        int64_t first = 0, size = 0;
        bool decays = false;
    };
    /// Factors that are common to the elements of a step.
    struct Factors {
        double gradient, first_rest, second_rest, step, second_root;
    };
    void step_piece(const Piece& piece, const double* gradients, const Factors& factors,
                    const Rate& rate);
    void step_adam(const Piece& piece, const double* gradients, const Factors& factors,
                   const Rate& rate);
    void step_sgd(const Piece& piece, const double* gradients, const Factors& factors,
                  const Rate& rate);

    MasterWeights& master_;
    Recipe recipe_;
    kernels::Queue queue_;
    std::vector<Piece> pieces_;
    kernels::Buffer<double> first_, second_, average_;
    mutable kernels::Buffer<double> squares_;  // (pieces)
    int64_t n_step_ = 0;
};

}  // namespace surrogate::impl
