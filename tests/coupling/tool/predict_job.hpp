// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers of the tests of `surrogate predict` on ranks: a job, a folder with meshes, a folder for
// each test, error texts.

#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>

#include "coupling/tool/predict.hpp"
#include "tests/coupling/vtk/read.hpp"

namespace surrogate::test {

/// The meshes, written by rank 0, and a folder for results; one for all tests of a program.
class MeshFolder : public testing::Environment {
public:
    using Write = void (*)(const std::string& folder);

    static tool::Job& job() { return *instance()->job_; }
    static std::string in(const std::string& file) { return instance()->folder_ + "/" + file; }

    explicit MeshFolder(Write write) : write_(write) { instance() = this; }
    void SetUp() override {
        job_ = std::make_unique<tool::Job>();
        if (job_->is_root()) {
            owner_ = std::make_unique<Folder>();
            write_(*owner_ / "");
        }
        folder_ = job_->broadcast(owner_ ? *owner_ / "" : "");
    }
    void TearDown() override {
        job_->barrier();
        owner_.reset();
        job_.reset();
    }

private:
    static MeshFolder*& instance() {
        static MeshFolder* only = nullptr;
        return only;
    }
    Write write_;
    std::unique_ptr<tool::Job> job_;
    std::unique_ptr<Folder> owner_;
    std::string folder_;
};

/// A test in a folder of its own below the job's. Its functions are collective.
class PredictFolder : public testing::Test {
protected:
    void SetUp() override {
        folder_ = MeshFolder::in(testing::UnitTest::GetInstance()->current_test_info()->name());
        on_root([this] { std::filesystem::create_directory(folder_); });
    }
    static tool::Job& job() { return MeshFolder::job(); }
    std::string at(const std::string& file) const { return folder_ + "/" + file; }

    template <class Work>
    void on_root(const Work& work) const {
        job().barrier();
        if (job().is_root()) work();
        job().barrier();
    }
    /// With the model darcy_flow, of a mesh and to an output in the folder.
    tool::PredictArguments arguments(const std::string& mesh, const std::string& out) const {
        tool::PredictArguments result;
        result.model = model_file;
        result.mesh = at(mesh);
        result.out = at(out);
        result.quiet = true;
        return result;
    }
    void predict(const tool::PredictArguments& options) const {
        tool::predict(job(), options);
        job().barrier();
    }
    /// Name and content of every file of the folder, and of those below it.
    std::map<std::string, std::string> files() const {
        namespace fs = std::filesystem;
        job().barrier();
        std::map<std::string, std::string> all;
        for (const auto& entry : fs::recursive_directory_iterator(folder_))
            all[fs::relative(entry.path(), folder_).string()] =
                entry.is_directory() ? "" : bytes_of(entry.path().string());
        job().barrier();
        return all;
    }

    const std::string model_file = std::string(SURROGATE_SHARE) + "/models/darcy_flow.safetensors";
    std::string folder_;
};

/// The text of the failure, the same on every rank.
inline std::string refusal(const tool::PredictArguments& options,
                           tool::Exit status = tool::Exit::bad_usage) {
    std::string text = "no failure";
    try {
        tool::predict(MeshFolder::job(), options);
    } catch (const tool::Failure& failure) {
        EXPECT_EQ(failure.status(), status);
        text = failure.what();
    }
    EXPECT_EQ(text, MeshFolder::job().broadcast(text));
    return text;
}

inline void expect_words(const std::string& text, std::initializer_list<std::string> words) {
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
}

}  // namespace surrogate::test
