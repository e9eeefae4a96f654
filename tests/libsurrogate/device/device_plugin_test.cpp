// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/device/device_plugin.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "kernels/device/device_images.hpp"
#include "kernels/device/driver_text.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

/// Returns the text of the error that `work` throws, which must be not_supported.
std::string refusal(const std::function<void()>& work) {
    const test::Refusal refusal = test::refusal(work);
    EXPECT_EQ(refusal.status, kernels::Status::not_supported) << refusal.text;
    return refusal.text;
}

TEST(DevicePlugin, AbsenceIsReportedWithTheLoadersWordsForEachPlace) {
    const std::vector<std::string> places = {"/nowhere/libsurrogate_cuda.so",
                                             "libsurrogate_of_no_vendor.so"};
    const std::string text = refusal([&] { load_device_plugin_from(places); });
    for (const std::string& place : places)
        EXPECT_NE(text.find(place + ": cannot open shared object file"), std::string::npos) << text;
    EXPECT_NE(text.find("SURROGATE_CUDA"), std::string::npos) << text;
}

TEST(DevicePlugin, AFileWithoutTheSymbolIsNoPlugin) {
    const std::vector<std::string> places = {"libm.so.6"};
    const std::string text = refusal([&] { load_device_plugin_from(places); });
    EXPECT_NE(text.find(device_plugin_symbol), std::string::npos) << text;
    EXPECT_NE(text.find("libm"), std::string::npos) << text;
}

TEST(DevicePlugin, NoPlacesAreRefusedToo) {
    refusal([&] { load_device_plugin_from({}); });
}

TEST(DevicePlugin, KernelsAreThoseOfTheFamilyAndOfItsSize) {
    const int numbers[2] = {};
    const kernels::DeviceTable tables[] = {{"grass", 4, &numbers[0]}, {"moss", 8, &numbers[1]}};
    DevicePlugin plugin;
    plugin.tables = tables;
    EXPECT_EQ(find_kernels(plugin, "grass", 4), &numbers[0]);
    EXPECT_EQ(find_kernels(plugin, "moss", 8), &numbers[1]);
    const std::string absent = refusal([&] { find_kernels(plugin, "fern", 4); });
    EXPECT_NE(absent.find("no kernels of family 'fern' (it has those of grass, moss)"),
              std::string::npos)
        << absent;
    const std::string other = refusal([&] { find_kernels(plugin, "moss", 4); });
    EXPECT_NE(other.find("'moss' fill 8 bytes, expected 4"), std::string::npos) << other;
    const std::string none = refusal([&] { find_kernels(DevicePlugin{}, "moss", 8); });
    EXPECT_NE(none.find("(it has those of none)"), std::string::npos) << none;
}

TEST(DeviceImages, MachineCodeRunsOnItsOwnMajorVersionAndPortableCodeOnLaterOnes) {
    const char* machine_code = "80-real 90a-real";
    EXPECT_TRUE(kernels::has_image_for(machine_code, 8, 0));
    EXPECT_TRUE(kernels::has_image_for(machine_code, 8, 9));
    EXPECT_TRUE(kernels::has_image_for(machine_code, 9, 0));
    EXPECT_FALSE(kernels::has_image_for(machine_code, 7, 5));
    EXPECT_FALSE(kernels::has_image_for(machine_code, 10, 0));
    const char* with_ptx = "80 90a-real";
    for (const auto& [major, minor] : {std::pair{8, 0}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}})
        EXPECT_TRUE(kernels::has_image_for(with_ptx, major, minor)) << major << "." << minor;
    EXPECT_FALSE(kernels::has_image_for(with_ptx, 7, 5));
    EXPECT_FALSE(kernels::has_image_for("86-real", 8, 0));
    EXPECT_FALSE(kernels::has_image_for("90a", 10, 0));
    EXPECT_TRUE(kernels::has_image_for("80", 10, 0));
    EXPECT_TRUE(kernels::has_image_for("80-virtual", 9, 0));
    EXPECT_FALSE(kernels::has_image_for("80-virtual", 7, 5));
    EXPECT_TRUE(kernels::has_image_for("100a-real", 10, 0));
    EXPECT_FALSE(kernels::has_image_for("", 9, 0));
    EXPECT_FALSE(kernels::has_image_for("native", 9, 0));
}

TEST(DriverText, NamesBothVersionsAndTheRemedy) {
    EXPECT_EQ(
        kernels::old_driver_text(13000, 12040),
        "device code is built for CUDA 13.0 (driver 580.65.06 or newer), the installed driver "
        "supports CUDA up to 12.4; update the driver, or build with a toolkit of CUDA 12");
    EXPECT_EQ(kernels::old_driver_text(12040, 0),
              "device code is built for CUDA 12.4 (driver 525.60.13 or newer), no driver is "
              "installed");
    EXPECT_EQ(kernels::old_driver_text(99010, 13020),
              "device code is built for CUDA 99.1, the installed driver supports CUDA up to 13.2; "
              "update the driver, or build with a toolkit of CUDA 13");
}

#if defined(SURROGATE_HAVE_CUDA)
TEST(DevicePlugin, LoadsOnceForAllThreads) {
    std::vector<const DevicePlugin*> seen(4);
    std::vector<std::thread> threads;
    for (auto& plugin : seen) threads.emplace_back([&plugin] { plugin = &load_device_plugin(); });
    for (auto& thread : threads) thread.join();
    for (const DevicePlugin* plugin : seen) EXPECT_EQ(plugin, &load_device_plugin());
    EXPECT_NE(seen[0]->open, nullptr);
    EXPECT_NE(seen[0]->n_device, nullptr);
}

TEST(DevicePlugin, PlacesAreTriedInTheirOrder) {
    const std::vector<std::string> places = {"/nowhere/libsurrogate_cuda.so", SURROGATE_PLUGIN};
    EXPECT_EQ(&load_device_plugin_from(places), &load_device_plugin());
}

/// A host without driver or device runs the same binaries; device_runtime_test.cpp is for the
/// others.
TEST(DevicePlugin, WithoutADeviceOpenSaysWhatTheRuntimeSays) {
    const DevicePlugin& plugin = load_device_plugin();
    if (plugin.n_device() > 0) {
        EXPECT_NE(plugin.open(0), nullptr);
        return;
    }
    const std::string text = refusal([&] { plugin.open(-1); });
    EXPECT_NE(text.find("no CUDA device can be used: "), std::string::npos) << text;
    EXPECT_NE(text.find("(cudaError"), std::string::npos) << text;
    if (text.find("InsufficientDriver") != std::string::npos) {
        EXPECT_NE(text.find("device code is built for CUDA "), std::string::npos) << text;
        EXPECT_NE(text.find(" driver "), std::string::npos) << text;
    }
    EXPECT_EQ(refusal([&] { plugin.open(0); }), text);
}

TEST(DevicePlugin, DevicesBeyondTheLastAreRefusedWithTheCount) {
    const DevicePlugin& plugin = load_device_plugin();
    const std::string text = refusal([&] { plugin.open(1000); });
    EXPECT_EQ(text.find("device index is 1000, ") != std::string::npos, plugin.n_device() > 0)
        << text;
    refusal([&] { plugin.open(-2); });
}
#else
TEST(DevicePlugin, WithoutCudaItIsAbsentAndEveryQuestionGetsTheSameAnswer) {
    const std::string text = refusal([] { load_device_plugin(); });
    EXPECT_NE(text.find("libsurrogate_cuda.so"), std::string::npos) << text;
    EXPECT_EQ(refusal([] { load_device_plugin(); }), text);
}
#endif

}  // namespace
}  // namespace surrogate::impl
