// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libsurrogate/src/model/flare/config.hpp"
#include "surrogate/surrogate.hpp"

namespace surrogate::bench {

/// The FLARE model of the benchmarks: the paper's configuration (K/V and FFN depth 3, in/out depth
/// 2), C = 64, H = 8, M = 128, three inputs, one output, weights by formula. Written as a model
/// file to a temporary path, removed with the object.
class FlareCase {
public:
    explicit FlareCase(int num_blocks, int64_t num_latents = 128);
    ~FlareCase();
    FlareCase(const FlareCase&) = delete;
    FlareCase& operator=(const FlareCase&) = delete;

    const std::string& path() const { return path_; }

    /// Returns the flops of one forward pass, per point: affine layers, scores and weighted sums.
    double flops() const;
    /// Returns latent-point pairs per point: each costs two exponentials.
    double pairs() const;

private:
    impl::flare::Config config_;
    std::string path_;
};

/// Returns inputs x (n, 3) in [-1, 1], by formula.
std::vector<float> make_inputs(int64_t n);

/// A model on n points, n a multiple of the ranks of `context`, each rank an equal part.
class FlareRun {
public:
    FlareRun(const Context& context, const std::string& path, int64_t n, const Options& options);
    void run();
    const std::vector<float>& y() const { return y_; }
    const Plan& plan() const { return plan_; }

private:
    std::vector<float> x_, y_;  // (n_local, 3), (n_local)
    Model model_;
    Domain domain_;
    Plan plan_;
};

}  // namespace surrogate::bench
