// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace surrogate::kernels::cuda {

/// Retains the primary context of a device, which runtime calls of all parts of a process share.
/// Throws not_supported (no driver), no_memory, device.
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

/// Makes a device current in the calling thread; the destructor restores the previous device.
/// cudaSetDevice() could make it current, but when it restores the previous device it creates a
/// context there, even if no code ever used that device: half a gigabyte on device 0 for every
/// rank.
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

/// Returns the device of the calling thread's current context, which is the same for every copy of
/// the runtime in the process; without a context, the device of this copy of the runtime. Throws
/// not_supported, device.
int current_index();

}  // namespace surrogate::kernels::cuda
