// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::impl {

/// Rows that a network of PyTorch maps to rows. Points of one cloud, or any points of a network
/// whose rows are independent.
struct TorchCall {
    const void* x = nullptr;  ///< [n_row, n_in], contiguous
    void* y = nullptr;        ///< [n_row, n_out], contiguous; does not overlap x
    int64_t n_row = 0, n_in = 0, n_out = 0;
    int32_t is_double = 0;       ///< type of x and y: double, otherwise float
    int32_t has_batch_axis = 0;  ///< the network takes [1, n_row, n_in]
    int32_t n_thread = 1;        ///< of PyTorch while it computes
};

/// Outcome of a function of the plug-in.
enum class TorchStatus : int32_t {
    success = 0,
    failed = 1,     ///< PyTorch or the package threw
    no_memory = 2,  ///< memory is exhausted
    wrong_device = 3,
    wrong_output = 4  ///< shape or type of y is not the one of the call
};

/// Interface of the plug-in libsurrogate_torch.so to the library, in types of C: the library
/// contains no code and no header of PyTorch. No function throws; each writes the text of its
/// failure to error[n_error].
struct TorchPlugin {
    /// Release of PyTorch, such as "2.15.0".
    const char* version = nullptr;
    /// Opens a package, which loads the machine code inside. `package` receives a handle.
    TorchStatus (*open)(const char* path, void** package, char* error, int64_t n_error) = nullptr;
    /// Evaluates the package on the processor, on the calling thread and on n_thread - 1 others of
    /// OpenMP. May be called by several threads at once. The caller's number of OpenMP threads and
    /// its floating-point environment are unchanged afterwards.
    TorchStatus (*run)(void* package, const TorchCall* call, char* error,
                       int64_t n_error) = nullptr;
    void (*close)(void* package) = nullptr;
};

/// Name of the plug-in's only symbol: extern "C" const TorchPlugin* surrogate_torch_plugin_0_2().
inline constexpr const char* torch_plugin_symbol = "surrogate_torch_plugin_0_2";

/// File of the plug-in, named as a library with the soname of this version.
inline constexpr const char* torch_plugin_file = "libsurrogate_torch.so.0.2";

}  // namespace surrogate::impl
