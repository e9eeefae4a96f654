// SPDX-License-Identifier: Apache-2.0
// Hosts that load the library as a plug-in close it again, at the end of a job or between two. The
// program is linked with none of our libraries, nor with OpenMP: what it opens is all there is.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <surrogate/surrogate.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace surrogate::test {
namespace {

/// The library at `path`, opened as a host opens a plug-in.
class Plugin {
public:
    explicit Plugin(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {}
    bool is_open() const { return handle_ != nullptr; }
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(dlsym(handle_, name));
    }
    int close() { return dlclose(handle_); }

private:
    void* handle_;
};

#define FIND(function) auto* const function##_ = plugin.find<decltype(function)>(#function)

/// A plan of two threads on 10,000 points, run and destroyed. Returns the prediction of one point.
double run_once(const Plugin& plugin) {
    FIND(surrogate_options_create);
    FIND(surrogate_options_set);
    FIND(surrogate_options_destroy);
    FIND(surrogate_context_create);
    FIND(surrogate_context_destroy);
    FIND(surrogate_model_load);
    FIND(surrogate_model_destroy);
    FIND(surrogate_domain_create_points);
    FIND(surrogate_domain_destroy);
    FIND(surrogate_plan_create);
    FIND(surrogate_plan_bind_input);
    FIND(surrogate_plan_bind_output);
    FIND(surrogate_plan_run);
    FIND(surrogate_plan_destroy);
    FIND(surrogate_error);
    const auto check = [&](surrogate_status status) {
        EXPECT_EQ(status, SURROGATE_SUCCESS) << surrogate_error_(nullptr);
    };
    constexpr int64_t n = 10000;
    std::vector<double> x, mobility(n, 5), pressure(n, -1);
    for (int64_t i = 0; i < n; ++i) {
        x.push_back(static_cast<double>(i % 100) / 100);
        x.push_back(static_cast<double>(i) / n);
    }
    const surrogate_points points{
        {x.data(), {n, 2}, {2, 1}, SURROGATE_FLOAT64, SURROGATE_HOST}, nullptr, nullptr, nullptr};
    const auto column = [](std::vector<double>& values) {
        return surrogate_array{values.data(), {n, 1}, {1, 1}, SURROGATE_FLOAT64, SURROGATE_HOST};
    };
    const surrogate_array in = column(mobility), out = column(pressure);
    surrogate_options* options = nullptr;
    surrogate_context* context = nullptr;
    surrogate_model* model = nullptr;
    surrogate_domain* domain = nullptr;
    surrogate_plan* plan = nullptr;
    check(surrogate_options_create_(&options));
    check(surrogate_options_set_(options, "threads", "2"));
    check(surrogate_context_create_(options, &context));
    check(surrogate_model_load_(context, SURROGATE_SHARE "/models/darcy_flow.safetensors", &model));
    check(surrogate_domain_create_points_(context, &points, &domain));
    check(surrogate_plan_create_(model, domain, nullptr, nullptr, &plan));
    check(surrogate_plan_bind_input_(plan, "mobility", nullptr, &in));
    check(surrogate_plan_bind_output_(plan, "pressure", nullptr, &out));
    check(surrogate_plan_run_(plan));
    surrogate_plan_destroy_(&plan);
    surrogate_domain_destroy_(&domain);
    surrogate_model_destroy_(&model);
    surrogate_context_destroy_(&context);
    surrogate_options_destroy_(&options);
    return pressure[n / 2];
}

TEST(Unload, AfterRunsOfManyThreadsLeavesTheHostAlive) {
    double first = 0;
    for (int round = 0; round < 4; ++round) {
        Plugin plugin(SURROGATE_LIBRARY);
        ASSERT_TRUE(plugin.is_open()) << dlerror();
        const double pressure = run_once(plugin);
        if (round == 0) first = pressure;
        EXPECT_EQ(pressure, first);
        EXPECT_EQ(plugin.close(), 0);
        usleep(30000);  // idle workers look around: code that is gone ends the program here
    }
}

TEST(Unload, EveryLibraryStaysMapped) {
    for (const char* const path : {SURROGATE_LIBRARIES}) {
        void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(handle, nullptr) << dlerror();
        EXPECT_EQ(dlclose(handle), 0);
        EXPECT_NE(dlopen(path, RTLD_NOW | RTLD_NOLOAD), nullptr) << path << " was unloaded";
    }
}

}  // namespace
}  // namespace surrogate::test
