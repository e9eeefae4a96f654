// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/context/context.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "libsurrogate/src/context/option_mark.hpp"
#include "libsurrogate/src/core/text.hpp"
#include "surrogate/surrogate.h"

namespace surrogate::impl {

using kernels::Backend;
using kernels::Queue;
using kernels::VectorLevel;

#define SURROGATE_TEXT_(x) #x
#define SURROGATE_TEXT(x) SURROGATE_TEXT_(x)

const char* version() {
    return SURROGATE_TEXT(SURROGATE_VERSION_MAJOR) "." SURROGATE_TEXT(
        SURROGATE_VERSION_MINOR) "." SURROGATE_TEXT(SURROGATE_VERSION_PATCH);
}

void process_cores(uint64_t* words, int n_word) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    std::fill_n(words, n_word, uint64_t{0});
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) {
        words[0] = 1;  // more than 1024 cores, or not allowed to ask: one thread is always right
        return;
    }
    for (int core = 0; core < std::min(CPU_SETSIZE, 64 * n_word); ++core) {
        if (CPU_ISSET(core, &cores)) words[core / 64] |= uint64_t{1} << (core % 64);
    }
}

int count_bits(const uint64_t* words, int n_word) {
    int count = 0;
    for (int i = 0; i < n_word; ++i) count += std::popcount(words[i]);
    return count;
}

Context::Context(std::unique_ptr<Communicator> communicator, Options options, Placement placement,
                 const FileLayer& files, DeviceSources sources)
    : communicator_(std::move(communicator)),
      options_(std::move(options)),
      placement_(placement),
      files_(files),
      sources_(sources) {}

void Context::open() {
    comm().agree([&] { make_queue(options_); });
    if (wants_device(options_)) open_device(options_);
}

int Context::share_of_cores() const {
    const int share = placement_.cores_on_node / placement_.ranks_on_node;
    return std::clamp(share, 1, std::max(1, placement_.cores_of_rank));
}

int Context::automatic_threads() const {
    return std::min(share_of_cores(), kernels::openmp_threads());
}

std::string Context::threads_reason() const {
    if (options_.get("threads") != "auto") return "option threads";
    const int share = share_of_cores();
    if (automatic_threads() == share) return "cores / ranks on the node";
    const char* const asked = std::getenv("OMP_NUM_THREADS");
    return (asked && *asked ? "OMP_NUM_THREADS=" + printable(asked, 40) : "the host's OpenMP") +
           "; cores / ranks on the node would be " + std::to_string(share);
}

namespace {

/// Throws not_supported unless the backend computes in this precision.
void require_precision(const Options& options) {
    const std::string& backend = options.get("backend");
    const std::string& precision = options.get("precision");
    const char* only = nullptr;
    if (precision == "fp64" && (backend == "simd" || backend == "cuda")) only = "ref";
    if (precision != "fp64" && precision != "fp32" && backend != "cuda") only = "cuda";
    if (!only) return;
    throw Error(Status::not_supported, "precision '" + precision + "' is computed by backend '" +
                                           only + "' only, backend is '" + backend + "'");
}

}  // namespace

Queue Context::make_queue(const Options& options) const {
    const std::string& backend = options.get("backend");
    const std::string& level = options.get("vector");
    const std::string& threads = options.get("threads");
    require_precision(options);
    // The host's part of work on a device needs vectors and threads too.
    const bool is_ref = backend == "ref" || options.get("precision") == "fp64";
    const Backend chosen = is_ref ? Backend::ref : Backend::simd;
    VectorLevel vector = kernels::best_vector_level();
    for (const VectorLevel named :
         {VectorLevel::avx512, VectorLevel::avx2, VectorLevel::neon, VectorLevel::scalar})
        if (level == kernels::name(named)) vector = named;
    return Queue(chosen, vector, threads == "auto" ? automatic_threads() : std::stoi(threads));
}

DeviceContext& Context::open_device(const Options& options) {
    int index = -1;
    double timeout_s = 0;
    comm().agree([&] {
        const std::string& asked = options.get("device");
        if (asked != "auto") index = std::stoi(asked);
        timeout_s = std::stod(options.get("timeout_s"));
        if (!device_ || index < 0) return;
        const int found = device_->device().properties().index;
        if (index == found) return;
        throw Error(Status::invalid_argument,
                    "option 'device' is " + asked + ", but the context works on device " +
                        std::to_string(found) + " already; a context has one device");
    });
    if (!device_) device_.emplace(comm(), sources_, index, timeout_s);
    return *device_;
}

int64_t exchange_mark(const Options& options) {
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const char* key :
         {"backend", "precision", "reproducible", "agree", "coordinates", "gradients", "states"}) {
        for (char c : options.get(key))
            hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    return static_cast<int64_t>(hash >> 1);
}

std::string different_options() {
    return "ranks set different values of backend, precision, reproducible, agree, coordinates, "
           "gradients or states, expected the same on all";
}

void require_same_options(Communicator& comm, const Options& options) {
    int64_t extremes[2] = {};  // of the mark, over the ranks
    comm.agree([&] {
        extremes[0] = exchange_mark(options);
        extremes[1] = -extremes[0];
    });
    comm.all_reduce_max(std::span(extremes));
    comm.agree([&] {
        if (extremes[0] != -extremes[1]) throw Error(Status::invalid_argument, different_options());
    });
}

std::string Context::describe() const {
    const Communicator& c = comm();
    const int threads = make_queue(Options{}.over(options_)).n_thread();
    std::string text = std::string("libsurrogate ") + version() + "\n";
    text += "ranks      " + std::to_string(c.size()) + " (" +
            std::to_string(placement_.ranks_on_node) + " on this node)\n";
    text += "transport  " + std::string(c.transport()) + "\n";
    text += "cores      " + std::to_string(placement_.cores_on_node) +
            " allowed to the ranks of this node, " + std::to_string(placement_.cores_of_rank) +
            " to this rank\n";
    text += "threads    " + std::to_string(threads) + " (" + threads_reason() + ")\n";
    text += "vector     " + std::string(kernels::name(make_queue(options_).level())) +
            (options_.get("vector") == "auto" ? " (widest this machine offers)\n"
                                              : " (option vector)\n");
    text += "backends   " + backends_text() + "\n";
    if (device_) {
        text += "device     " + device_->device_text() + "\n";
        text += "reductions " + device_->transport_text() + "\n";
    }
    if (threads * placement_.ranks_on_node > placement_.cores_on_node) {
        text += "warning: " + std::to_string(threads) + " threads x " +
                std::to_string(placement_.ranks_on_node) + " ranks exceed the " +
                std::to_string(placement_.cores_on_node) + " cores of this node\n";
    }
    return text;
}

std::string Context::backends_text() const {
    if (device_) return "ref, simd, cuda";
    try {
        const int n = sources_.plugin().n_device();
        return n > 0 ? "ref, simd, cuda (" + std::to_string(n) + " devices)"
                     : "ref, simd; not cuda: there is no device";
    } catch (const Error& error) {
        return std::string("ref, simd; not cuda: ") + error.what();
    }
}

}  // namespace surrogate::impl
