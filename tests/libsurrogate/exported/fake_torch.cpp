// SPDX-License-Identifier: Apache-2.0
/// A plug-in in the form of libsurrogate_torch.so, without PyTorch. The bytes of a package are a
/// word: "sum" adds the channels of a row, "mean" adds the mean of these sums over all rows, other
/// words fail. y gets it in its first channel, the number of rows of the call in the others.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "libsurrogate/src/core/torch_plugin.hpp"

using namespace surrogate::impl;

namespace {

TorchStatus fail(TorchStatus status, const std::string& text, char* error, int64_t n_error) {
    std::snprintf(error, static_cast<size_t>(n_error), "%s", text.c_str());
    return status;
}

TorchStatus open_package(const char* path, void** package, char* error, int64_t n_error) {
    std::ifstream file(path, std::ios::binary);
    const std::string word{std::istreambuf_iterator<char>(file), {}};
    if (word == "cuda")
        return fail(TorchStatus::wrong_device, "its device is cuda", error, n_error);
    if (word != "sum" && word != "mean" && word != "broken")
        return fail(TorchStatus::failed, "no archive", error, n_error);
    *package = new std::string(word);
    return TorchStatus::success;
}

template <class T>
void compute(const TorchCall& call, bool adds_mean) {
    const auto* x = static_cast<const T*>(call.x);
    auto* y = static_cast<T*>(call.y);
    T mean = 0;
    for (int64_t i = 0; i < call.n_row; ++i) {
        T sum = 0;
        for (int64_t c = 0; c < call.n_in; ++c) sum += x[i * call.n_in + c];
        y[i * call.n_out] = sum;
        for (int64_t c = 1; c < call.n_out; ++c) y[i * call.n_out + c] = static_cast<T>(call.n_row);
        mean += sum / static_cast<T>(call.n_row);
    }
    for (int64_t i = 0; adds_mean && i < call.n_row; ++i) y[i * call.n_out] += mean;
}

TorchStatus run_package(void* package, const TorchCall* call, char* error, int64_t n_error) {
    const std::string& word = *static_cast<std::string*>(package);
    if (word == "broken") return fail(TorchStatus::failed, "it threw", error, n_error);
    if (call->is_double)
        compute<double>(*call, word == "mean");
    else
        compute<float>(*call, word == "mean");
    return TorchStatus::success;
}

void close_package(void* package) {
    delete static_cast<std::string*>(package);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const TorchPlugin* surrogate_torch_plugin_0_2();

const TorchPlugin* surrogate_torch_plugin_0_2() {
    static const TorchPlugin plugin{"0.0.fake", open_package, run_package, close_package};
    return &plugin;
}
