// SPDX-License-Identifier: Apache-2.0
// Notes to the host about a model file that is not, or not fully, checked.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate {
namespace {

const std::string golden = SURROGATE_TEST_DATA "/flare/tiny.safetensors";

class CheckCaseTest : public testing::Test {
protected:
    void SetUp() override {
        path_ = testing::TempDir() + "check_case_" + std::to_string(::getpid());
        context_.set_log(
            [](void* user, const char* text) {
                static_cast<std::vector<std::string>*>(user)->push_back(text);
            },
            &log_);
    }
    void TearDown() override { std::filesystem::remove(path_); }

    /// A file with a text of its header replaced by one of the same length.
    std::string golden_with(const std::string& from, const std::string& to,
                            const std::string& source = golden) const {
        std::ostringstream read;
        read << std::ifstream(source, std::ios::binary).rdbuf();
        std::string bytes = read.str();
        for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1))
            bytes.replace(at, from.size(), to);
        std::ofstream(path_, std::ios::binary) << bytes;
        return path_;
    }
    nlohmann::json about(const std::string& path) {
        return nlohmann::json::parse(Model(context_, path).describe());
    }

    Context context_;
    std::string path_;
    std::vector<std::string> log_;
};

TEST_F(CheckCaseTest, AFullCaseNeedsNoWord) {
    const auto text = about(golden);
    EXPECT_EQ(text["check_truth"], "double");
    EXPECT_FALSE(text.contains("check_note"));
    EXPECT_TRUE(log_.empty()) << log_[0];
}

TEST_F(CheckCaseTest, AFileWithoutOneIsSaidToBeBelieved) {
    for (const char* from : {"check/output", "check/input/"}) {
        log_.clear();
        const auto text = about(golden_with(from, "check/absent"));
        EXPECT_EQ(text["check_truth"], "none") << from;
        const std::string note = text["check_note"];
        for (const char* part : {"no check case", "num_heads", "activation", "scale", "unchecked"})
            EXPECT_NE(note.find(part), std::string::npos) << part << " in " << note;
        ASSERT_EQ(log_.size(), 1u);
        EXPECT_NE(log_[0].find(path_), std::string::npos) << log_[0];
        EXPECT_NE(log_[0].find(note), std::string::npos) << log_[0];
    }
    EXPECT_THROW(CheckCase(context_, golden_with("check/output", "check/absent")), Error);
}

TEST_F(CheckCaseTest, ASinglePrecisionTruthIsSaid) {
    const std::string path = golden_with("check/output64/", "check/absent64/");
    const auto text = about(path);
    EXPECT_EQ(text["check_truth"], "single");
    EXPECT_NE(text["check_note"].get<std::string>().find("1e-5"), std::string::npos);
    ASSERT_EQ(log_.size(), 1u);
    EXPECT_NE(log_[0].find("single precision"), std::string::npos) << log_[0];
    EXPECT_FALSE(CheckCase(context_, path).tensors().empty());
}

/// A host prints a description: free text of a card must not reach its terminal as it is.
TEST_F(CheckCaseTest, DescriptionsAreAscii) {
    const std::string path = golden_with("Pressure", "\xe2\x80\xaePress",
                                         SURROGATE_TEST_DATA "/darcy_flow/model.safetensors");
    const std::string text = Model(context_, path).describe();
    for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
    EXPECT_NE(text.find("\\u202ePress"), std::string::npos) << text;
}

}  // namespace
}  // namespace surrogate
