// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/linear/linear.hpp"
#include "kernels/norm/norm.hpp"
#include "libsurrogate/src/layers/gradients.hpp"

namespace surrogate::impl::bsa {

/// Sums of the gradients of some tensors in double, one set per thread. Tensors are added first,
/// then memory is allocated once.
class ThreadSums {
public:
    /// A tensor, or memory for other sums, in the set of each thread.
    struct Part {
        int64_t first = 0, size = 0;
        const MasterWeights::Entry* tensor = nullptr;  ///< null: other sums
    };
    /// Weight and bias of an affine layer or a norm.
    struct Layer {
        Part weight, bias;
    };

    ThreadSums(const MasterWeights& master, int n_thread) : master_(master), n_thread_(n_thread) {}

    Part add(int64_t size) { return place({n_, size, nullptr}); }
    Part add(const std::string& tensor) {
        const MasterWeights::Entry* const entry = master_.find(tensor);
        if (!entry) throw Error(Status::internal, "the master has no weight '" + tensor + "'");
        return place({n_, entry->size, entry});
    }
    Layer add_layer(const std::string& name) {
        const Part weight = add(name + ".weight");
        return {weight, add(name + ".bias")};
    }
    /// Allocates. Local.
    void allocate() { memory_ = kernels::Buffer<double>(n_ * n_thread_); }

    void clear() { std::fill(memory_.begin(), memory_.end(), 0.0); }
    double* at(const Part& part, int thread) { return memory_.data() + thread * n_ + part.first; }
    kernels::LinearGradient linear(const Layer& layer, int thread) {
        return {at(layer.weight, thread), at(layer.bias, thread)};
    }
    kernels::NormGradient norm(const Layer& layer, int thread) {
        return {at(layer.weight, thread), at(layer.bias, thread)};
    }

    /// Adds the sets of all threads to the set of thread 0, in the order of threads.
    void join() {
        for (int thread = 1; thread < n_thread_; ++thread)
            for (int64_t i = 0; i < n_; ++i) memory_[i] += memory_[thread * n_ + i];
    }
    /// Adds the tensors of the set of thread 0 to `gradients`, an arena like
    /// MasterWeights::gradients().
    void add_to(std::span<double> gradients) const {
        for (const Part& part : parts_) {
            if (!part.tensor) continue;
            double* const to = gradients.data() + part.tensor->first;
            for (int64_t i = 0; i < part.size; ++i) to[i] += memory_[part.first + i];
        }
    }

    int64_t bytes() const { return memory_.bytes(); }

private:
    Part place(const Part& part) {
        parts_.push_back(part);
        n_ += part.size;
        return part;
    }

    const MasterWeights& master_;
    int n_thread_;
    int64_t n_ = 0;  // numbers of a set
    std::vector<Part> parts_;
    kernels::Buffer<double> memory_;  // (n_thread, n)
};

}  // namespace surrogate::impl::bsa
