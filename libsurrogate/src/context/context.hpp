// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kernels/base/queue.hpp"
#include "libsurrogate/src/context/options.hpp"
#include "libsurrogate/src/core/communicator.hpp"
#include "libsurrogate/src/core/file.hpp"
#include "libsurrogate/src/device/device_context.hpp"

namespace surrogate::impl {

/// Number of ranks that share the cores of this node, and the cores.
struct Placement {
    int ranks_on_node = 1;
    int cores_on_node = 1;  ///< cores that these ranks together may use
    int cores_of_rank = 1;  ///< cores this rank is bound to
};

/// Cores the calling process may run on, as a bit mask of `n_word` 64-bit words.
void process_cores(uint64_t* words, int n_word);
int count_bits(const uint64_t* words, int n_word);

/// Communicator, options and log of one job. Objects made from it share it.
class Context {
public:
    Context(std::unique_ptr<Communicator> communicator, Options options, Placement placement,
            const FileLayer& files = posix_files(), DeviceSources sources = {});

    /// Throws for options that this machine does not support, and opens the device
    /// that they select. Collective; an error of any rank is thrown on all ranks.
    void open();

    Communicator& comm() const { return *communicator_; }
    const Options& options() const { return options_; }
    const FileLayer& files() const { return files_; }
    const Placement& placement() const { return placement_; }

    /// Threads for `threads = auto`: cores of the node divided by its ranks, at most those this
    /// rank is bound to and those that OpenMP gives its caller (OMP_NUM_THREADS).
    int automatic_threads() const;

    /// Returns the queue that the merged options of a plan select. With backend cuda, it is the
    /// queue of the work on the host, packing and unpacking. Throws not_supported.
    kernels::Queue make_queue(const Options& options) const;

    /// Opens the device of `options` with backend cuda at the first call. Collective; all ranks
    /// pass the same backend. Throws not_supported if there is none, or invalid_argument if another
    /// one is open: a context has one device.
    DeviceContext& open_device(const Options& options);

    /// Returns the text of surrogate_context_describe().
    std::string describe() const;

    void set_log(std::function<void(const std::string&)> log) { log_ = std::move(log); }
    bool has_log() const { return static_cast<bool>(log_); }
    void log(const std::string& text) const { log_(text); }

private:
    int share_of_cores() const;
    std::string threads_reason() const;
    std::string backends_text() const;

    std::unique_ptr<Communicator> communicator_;
    Options options_;
    Placement placement_;
    const FileLayer& files_;
    DeviceSources sources_;
    std::optional<DeviceContext> device_;  // goes before the communicator it uses
    std::function<void(const std::string&)> log_;
};

/// Returns true for the backend that opens a device.
inline bool wants_device(const Options& options) {
    return options.get("backend") == "cuda";
}

/// Options decide what ranks exchange: throws invalid_argument on all ranks unless all give the
/// same backend, precision, reproducibility and agreement. Collective.
void require_same_options(Communicator& comm, const Options& options);

/// Returns the library version, "0.1.0".
const char* version();

}  // namespace surrogate::impl
