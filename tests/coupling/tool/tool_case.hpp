// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace surrogate::test {

using nlohmann::json;
inline const std::string tiny = SURROGATE_TEST_DATA "/flare/tiny.safetensors";
inline const std::string odd = SURROGATE_TEST_DATA "/flare/odd.safetensors";
inline const std::string sphere = SURROGATE_TEST_DATA "/sphere/";
inline const std::string darcy = SURROGATE_TEST_DATA "/darcy_flow/model.safetensors";

struct Outcome {
    int status;
    std::string text;  // stdout and stderr
};

inline Outcome shell(const std::string& command) {
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer;
    while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
        text.append(buffer.data(), n);
    const int status = pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

inline Outcome surrogate(const std::string& arguments) {
    return shell(SURROGATE_PROGRAM " " + arguments);
}

inline std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

/// A safetensors file taken apart.
struct TensorFile {
    explicit TensorFile(const std::string& path) : bytes(read(path)) {
        uint64_t n = 0;
        std::memcpy(&n, bytes.data(), sizeof n);
        header = json::parse(bytes.substr(8, n));
        data = 8 + n;
    }
    size_t offset(const std::string& name) const {
        return data + header.at(name).at("data_offsets").at(0).get<size_t>();
    }
    std::string bytes;
    json header;
    size_t data = 0;
};

/// Runs the program `surrogate` in a folder of its own.
class ToolTest : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::string(SURROGATE_WORK "/") +
                  testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    std::string file(const std::string& name) const { return folder_ + "/" + name; }

    /// Runs `surrogate check` with a report, expects its status and returns the report.
    json check(int status, const std::string& arguments, const std::string& launcher = "") const {
        const std::string report = file("report.json");
        std::filesystem::remove(report);
        const Outcome outcome =
            shell(launcher + " " SURROGATE_PROGRAM " check " + arguments + " --json " + report);
        EXPECT_EQ(outcome.status, status) << outcome.text;
        EXPECT_TRUE(std::filesystem::exists(report)) << outcome.text;
        return json::parse(read(report), nullptr, false);
    }

    /// tiny with one text of its header replaced by another of the same length.
    std::string tiny_with(const std::string& from, const std::string& to) const {
        EXPECT_EQ(from.size(), to.size());
        std::string bytes = read(tiny);
        for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1))
            bytes.replace(at, from.size(), to);
        write(file("changed.safetensors"), bytes);
        return file("changed.safetensors");
    }

    /// tiny with a shifted bias of its last layer: a valid model that computes something else.
    std::string tiny_with_shifted_bias() const {
        TensorFile model(tiny);
        const size_t at = model.offset("out_proj.1.fc2.bias");
        float bias = 0;
        std::memcpy(&bias, model.bytes.data() + at, sizeof bias);
        bias += 0.001f;
        std::memcpy(model.bytes.data() + at, &bias, sizeof bias);
        write(file("shifted.safetensors"), model.bytes);
        return file("shifted.safetensors");
    }

    std::string folder_;
};

}  // namespace surrogate::test
