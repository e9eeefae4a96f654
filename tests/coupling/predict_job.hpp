// SPDX-License-Identifier: Apache-2.0
#pragma once

// What tests of `surrogate predict` on ranks share: a job, a folder with meshes, refusals.

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>

#include "coupling/tool/predict.hpp"
#include "tests/coupling/vtk_read.hpp"

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

/// The text of the failure, the same on every rank, with status "bad usage".
inline std::string refusal(const tool::PredictArguments& options) {
    std::string text = "no failure";
    try {
        tool::predict(MeshFolder::job(), options);
    } catch (const tool::Failure& failure) {
        EXPECT_EQ(failure.status(), tool::Exit::bad_usage);
        text = failure.what();
    }
    EXPECT_EQ(text, MeshFolder::job().broadcast(text));
    return text;
}

inline void expect_words(const std::string& text, std::initializer_list<std::string> words) {
    for (const std::string& word : words) EXPECT_NE(text.find(word), std::string::npos) << text;
}

}  // namespace surrogate::test
