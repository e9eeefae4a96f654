// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace surrogate::kernels::cuda {

/// The primary context of a device, the one that runtime calls of all parts of a process share;
/// kept alive. Throws not_supported (no driver), no_memory, device.
class PrimaryContext {
public:
    explicit PrimaryContext(int index);
    ~PrimaryContext();
    PrimaryContext(const PrimaryContext&) = delete;
    PrimaryContext& operator=(const PrimaryContext&) = delete;

    void* get() const { return context_; }

private:
    int index_;
    void* context_ = nullptr;  ///< CUcontext
};

/// Makes a device the calling thread's current one, and at the end what was current before.
/// cudaSetDevice() would do for the first, but it creates a context on the device it is told to go
/// back to, even if nobody ever used that one: half a gigabyte on device 0 for every rank.
class Current {
public:
    explicit Current(const PrimaryContext& context) noexcept;
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

    bool is_set() const { return is_set_; }

private:
    bool is_set_;
};

/// The device of the calling thread's current context, which is the same for every copy of the
/// runtime in the process; without one, what this copy of the runtime says. Throws not_supported,
/// device.
int current_index();

}  // namespace surrogate::kernels::cuda
