// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <surrogate/surrogate.hpp>
#include <utility>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/device/device_plugin.hpp"
#include "libsurrogate/src/transport/device_transports.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/emulation/emulated_plugin.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/small_darcy_model.hpp"

namespace surrogate::test {

/// Source of a test's device code: the emulation, or the plug-in of this build.
struct DeviceKind {
    const char* name;
    const impl::DevicePlugin& (*plugin)();
};
/// The plug-in of this build, if there is one: a test lies elsewhere than the library would.
inline const impl::DevicePlugin& built_plugin() {
#ifdef SURROGATE_PLUGIN
    static const std::string place = SURROGATE_PLUGIN;
    return impl::load_device_plugin_from({&place, 1});
#else
    return impl::load_device_plugin();
#endif
}
inline const DeviceKind emulated_kind{"Emulated", emulated_plugin};
inline const DeviceKind real_kind{"RealDevice", built_plugin};

/// Why there is no such device, in the loader's or the runtime's words; empty: there is one.
inline std::string device_problem(const DeviceKind& kind) {
    try {
        kind.plugin().open(-1);
        return "";
    } catch (const kernels::Error& error) {
        return error.what();
    }
}

/// A context on ranks that finds its device code in `kind`, and NCCL if it is told where.
/// Collective.
inline Context device_context(const DeviceKind& kind, std::unique_ptr<impl::Communicator> ranks,
                              const impl::Options& options = {}, impl::NcclLoader nccl = nullptr) {
    auto handle = std::make_unique<surrogate_context>();
    handle->context = std::make_shared<impl::Context>(
        std::move(ranks), options, impl::Placement{}, impl::posix_files(),
        impl::DeviceSources{kind.plugin, impl::collectives_with(nccl)});
    handle->context->open();
    return Context(handle.release());
}

/// One rank with a device of the kind that the parameter says; skipped where there is none.
class OnDevice : public testing::TestWithParam<DeviceKind> {
protected:
    void SetUp() override {
        const std::string problem = device_problem(GetParam());
        if (!problem.empty()) GTEST_SKIP() << problem;
        context = std::make_unique<Context>(device_context(GetParam(), impl::self_communicator()));
        device = GetParam().plugin().open(-1);
    }

    std::unique_ptr<Context> context;
    std::unique_ptr<kernels::Device> device;
};

/// Returns the error of a plan with backend cuda, which must not be created.
inline Answer refusal_on_device(const Model& model, const Domain& domain) {
    surrogate_plan* plan = nullptr;
    const Options options{{"backend", "cuda"}};
    const Answer found =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, options.get(), &plan));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED) << found;
    surrogate_plan_destroy(&plan);
    return found;
}

/// For names of tests.
inline const auto name_of_device = [](const auto& tested) {
    return std::string(tested.param.name);
};

/// Numbers in memory of a device, for bound arrays. Copies wait.
template <class T>
class DeviceArray {
public:
    explicit DeviceArray(kernels::Device& device, const std::vector<T>& values) : device_(device) {
        count_ = std::ssize(values);
        data_ = static_cast<T*>(device.allocate(n_byte()));
        pinned_ = static_cast<T*>(device.allocate_pinned(n_byte()));
        stream_ = device.create_stream();
        put(values);
    }
    ~DeviceArray() {
        device_.destroy_stream(stream_);
        device_.release_pinned(pinned_);
        device_.release(data_);
    }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    void put(const std::vector<T>& values) {
        std::copy(values.begin(), values.end(), pinned_);
        device_.copy(data_, pinned_, n_byte(), stream_);
        device_.synchronize(stream_);
    }
    std::vector<T> get() const {
        device_.copy(pinned_, data_, n_byte(), stream_);
        device_.synchronize(stream_);
        return {pinned_, pinned_ + count_};
    }

    T* data() const { return data_; }
    /// n points from element `first`, `stride` elements apart.
    surrogate_array column(int64_t n, int64_t first = 0, int64_t stride = 1) const {
        return on_device(surrogate::column(data_ + first, n, stride));
    }
    surrogate_array matrix(int64_t n, int64_t n_column) const {
        return on_device(surrogate::matrix(data_, n, n_column));
    }

private:
    int64_t n_byte() const { return std::max<int64_t>(1, count_) * int64_t{sizeof(T)}; }

    kernels::Device& device_;
    int64_t count_ = 0;
    T *data_ = nullptr, *pinned_ = nullptr;
    kernels::Stream stream_ = nullptr;
};

/// |y - y64| / |y64|
inline double relative_l2(const std::vector<double>& y, const std::vector<double>& y64) {
    double error = 0, norm = 0;
    for (size_t i = 0; i < y64.size(); ++i) {
        error += (y.at(i) - y64[i]) * (y[i] - y64[i]);
        norm += y64[i] * y64[i];
    }
    return std::sqrt(error / norm);
}

/// The check case of a FLARE file: inputs and outputs of its first sample, row by row.
struct FlareCase {
    explicit FlareCase(const std::string& of_file)
        : name(of_file), path(SURROGATE_TEST_DATA "/flare/" + of_file + ".safetensors") {
        const GoldenFile file(path);
        const GoldenTensor x_all = file.tensor("check/input/x");
        const GoldenTensor y_all = file.tensor("check/output64/y");
        n = x_all.shape[1];
        n_in = x_all.shape[2];
        n_out = y_all.shape[2];
        x = x_all.part(0);
        y64 = y_all.part(0);
        official = relative_l2(file.tensor("check/output/y").part(0), y64);
    }

    /// fp32: as the program's check. Narrow operands: twice what rounding operands to 11 and 8 bits
    /// costs in otherwise exact arithmetic, computed for each file with a few lines of Python
    /// (the bounds of odd and mid also in the specification of FLARE, section 13).
    double bound(const std::string& precision) const {
        if (precision == "fp32") return std::max(3 * official, 2e-6);
        const std::map<std::string, std::pair<double, double>> plain{
            {"tiny", {1.05e-3, 1.27e-2}},
            {"tiny_options", {6.96e-3, 2.07e-2}},
            {"layers", {1.09e-3, 4.99e-3}},
            {"odd", {9.4e-4, 8.6e-3}},
            {"mid", {3.5e-4, 2.9e-3}}};
        const auto& [bits_11, bits_8] = plain.at(name);
        return 2 * (precision == "bf16" ? bits_8 : bits_11);
    }

    std::vector<float> rows_of_x(const std::vector<int64_t>& rows) const {
        std::vector<float> own;
        for (const int64_t row : rows)
            for (int64_t c = 0; c < n_in; ++c)
                own.push_back(static_cast<float>(x[static_cast<size_t>(row * n_in + c)]));
        return own;
    }
    std::vector<double> rows_of_y64(const std::vector<int64_t>& rows) const {
        std::vector<double> own;
        for (const int64_t row : rows)
            for (int64_t c = 0; c < n_out; ++c)
                own.push_back(y64[static_cast<size_t>(row * n_out + c)]);
        return own;
    }

    std::string name, path;
    int64_t n = 0, n_in = 0, n_out = 0;
    std::vector<double> x, y64;
    double official = 0;
};

/// Points known by their row number only, as the check case has them.
inline Domain rows_domain(const Context& context, const std::vector<int64_t>& rows) {
    double none = 0;
    return Domain(context, matrix(&none, std::ssize(rows), 0), rows.data());
}

}  // namespace surrogate::test
