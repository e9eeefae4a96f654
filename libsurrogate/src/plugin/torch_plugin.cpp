// SPDX-License-Identifier: Apache-2.0
/// The shared object libsurrogate_torch.so.0.2: packages of PyTorch (AOTInductor), behind one
/// function. The only file that includes headers of PyTorch; no exception leaves it.
#include "libsurrogate/src/core/torch_plugin.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <fenv.h>
#include <omp.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/version.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <string>

using surrogate::impl::TorchCall;
using surrogate::impl::TorchPlugin;
using surrogate::impl::TorchStatus;

namespace {

using Loader = torch::inductor::AOTIModelPackageLoader;

/// The first line of PyTorch's text: the others are its C++ stack.
void set_error(char* error, int64_t n_error, const char* text) {
    const int length = static_cast<int>(std::strcspn(text, "\n"));
    std::snprintf(error, static_cast<size_t>(n_error), "%.*s", length, text);
}

/// Keeps exceptions inside.
template <class Work>
TorchStatus guarded(char* error, int64_t n_error, const Work& work) noexcept {
    try {
        return work();
    } catch (const std::bad_alloc&) {
        set_error(error, n_error, "out of memory");
        return TorchStatus::no_memory;
    } catch (const c10::OutOfMemoryError& problem) {
        set_error(error, n_error, problem.what_without_backtrace());
        return TorchStatus::no_memory;
    } catch (const c10::Error& problem) {
        set_error(error, n_error, problem.what_without_backtrace());
    } catch (const std::exception& problem) {
        set_error(error, n_error, problem.what());
    } catch (...) {
        set_error(error, n_error, "PyTorch threw an unknown exception");
    }
    return TorchStatus::failed;
}

/// Threads of PyTorch, and the floating-point environment of all of them, in a scope. PyTorch and
/// the host share one OpenMP runtime, and its number of threads belongs to the calling thread.
/// Vector code of PyTorch sets exception flags, on which a host may trap, and a package may switch
/// to flush-to-zero when it is loaded.
class Scope {
public:
    explicit Scope(int n_thread) : n_thread_(n_thread), n_before_(omp_get_max_threads()) {
        fegetenv(&before_);
        traps_ = fegetexcept();
        at::get_num_threads();  // the first call in a thread sets the number of threads
        set_threads(n_thread);
        if (traps_ != 0) for_all([] { fedisableexcept(FE_ALL_EXCEPT); });
    }
    ~Scope() {
        if (traps_ != 0) {
            for_all([&] {
                feclearexcept(FE_ALL_EXCEPT);
                feenableexcept(traps_);
            });
        }
        fesetenv(&before_);
        set_threads(n_before_);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

private:
    /// at::set_num_threads() costs more, and is for a PyTorch with an OpenMP runtime of its own.
    static void set_threads(int n) {
        omp_set_num_threads(n);
        if (at::get_num_threads() != n) at::set_num_threads(n);
    }
    template <class Body>
    void for_all(const Body& body) const {
#pragma omp parallel num_threads(n_thread_)
        body();
    }

    int n_thread_, n_before_, traps_ = 0;
    fenv_t before_{};
};

/// The device must be known before the code is loaded.
TorchStatus require_cpu(const char* path, char* error, int64_t n_error) {
    const auto metadata = Loader::load_metadata_from_package(path, "model");
    const auto device = metadata.find("AOTI_DEVICE_KEY");
    if (device != metadata.end() && device->second == "cpu") return TorchStatus::success;
    const std::string found = device == metadata.end() ? "unknown" : device->second;
    set_error(
        error, n_error,
        ("its device is " + found + ", expected cpu; export the network on the processor").c_str());
    return TorchStatus::wrong_device;
}

TorchStatus open_package(const char* path, void** package, char* error, int64_t n_error) {
    return guarded(error, n_error, [&] {
        const Scope scope(1);
        const TorchStatus status = require_cpu(path, error, n_error);
        if (status == TorchStatus::success) *package = new Loader(path);
        return status;
    });
}

TorchStatus wrong_output(const std::vector<at::Tensor>& found, const at::Tensor& expected,
                         char* error, int64_t n_error) {
    std::string text = std::to_string(found.size()) + " tensors";
    if (found.size() == 1)
        text = c10::str(found[0].scalar_type(), " ", found[0].sizes(), " on ", found[0].device());
    text = c10::str("it returns ", text, ", expected ", expected.scalar_type(), " ",
                    expected.sizes(), " on cpu; the card contradicts the package");
    set_error(error, n_error, text.c_str());
    return TorchStatus::wrong_output;
}

TorchStatus run_package(void* package, const TorchCall* call, char* error, int64_t n_error) {
    return guarded(error, n_error, [&] {
        const Scope scope(call->n_thread);
        const c10::InferenceMode mode;
        const auto type = call->is_double ? at::kDouble : at::kFloat;
        const auto tensor = [&](void* data, int64_t n_channel) {
            const int64_t shape[] = {1, call->n_row, n_channel};
            return at::from_blob(data, at::IntArrayRef(shape).slice(call->has_batch_axis ? 0 : 1),
                                 type);
        };
        const at::Tensor y = tensor(call->y, call->n_out);
        const auto found =
            static_cast<Loader*>(package)->run({tensor(const_cast<void*>(call->x), call->n_in)});
        const bool is_expected = found.size() == 1 && found[0].sizes() == y.sizes() &&
                                 found[0].scalar_type() == type && found[0].is_cpu();
        if (!is_expected) return wrong_output(found, y, error, n_error);
        y.copy_(found[0]);
        return TorchStatus::success;
    });
}

void close_package(void* package) {
    char error[1];
    guarded(error, sizeof error, [&] {
        delete static_cast<Loader*>(package);
        return TorchStatus::success;
    });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const TorchPlugin* surrogate_torch_plugin_0_2();

const TorchPlugin* surrogate_torch_plugin_0_2() {
    static const TorchPlugin plugin{TORCH_VERSION, open_package, run_package, close_package};
    return &plugin;
}
