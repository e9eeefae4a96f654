// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/core/text.hpp"

#include <gtest/gtest.h>

#include <ctime>

#include "libsurrogate/src/core/hidden_characters.hpp"

namespace surrogate::impl {
namespace {

using Names = std::vector<std::string>;

TEST(NearMisses, FindsWhatAPersonMayHaveMeantBestFirst) {
    const Names known{"velocity", "pressures", "pressure", "x"};
    EXPECT_EQ(near_misses("presure", known), (Names{"pressure", "pressures"}));
    EXPECT_EQ(near_misses("presusre", known), (Names{"pressure", "pressures"}));
    EXPECT_EQ(near_misses("temperature", known), Names{});
}

TEST(NearMisses, SwappedNeighboursAreOneEdit) {
    EXPECT_EQ(near_misses("ab", Names{"ba"}), Names{"ba"});
    EXPECT_EQ(near_misses("ab", Names{"cd"}), Names{});
}

TEST(NearMisses, ShowsThreeAtMost) {
    EXPECT_EQ(near_misses("block", Names{"block4", "block2", "block3", "block1"}).size(), 3u);
}

TEST(NearMisses, EmptyAndLongNames) {
    EXPECT_EQ(near_misses("", Names{"a", "abc"}), Names{"a"});
    EXPECT_EQ(near_misses("a", Names{}), Names{});
    EXPECT_EQ(near_misses(std::string(100'000, 'a'), Names{std::string(100'000, 'a')}), Names{});
}

TEST(NearMisses, WorkIsBoundedForSixteenMegabytesOfNames) {
    const Names known(100'000, std::string(160, 'a'));
    const std::clock_t begin = std::clock();
    near_misses(std::string(160, 'b'), known);
    EXPECT_LE(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1.0);
}

TEST(DidYouMean, ReadsAsAQuestionOrIsEmpty) {
    EXPECT_EQ(did_you_mean("presure", Names{"pressure"}), "; did you mean 'pressure'?");
    EXPECT_EQ(did_you_mean("presure", Names{"pressure", "pressures"}),
              "; did you mean 'pressure' or 'pressures'?");
    EXPECT_EQ(did_you_mean("presure", Names{"velocity"}), "");
}

TEST(ShapeText, WritesExtentsInParentheses) {
    EXPECT_EQ(shape_text(std::vector<int64_t>{64, 3}), "(64, 3)");
    EXPECT_EQ(shape_text(std::vector<int64_t>{}), "()");
}

TEST(Printable, EscapesWhatIsNotPlainAscii) {
    EXPECT_EQ(printable("plain ~"), "plain ~");
    EXPECT_EQ(printable(std::string("a\0b\n\x7f\xff", 6)), "a\\x00b\\x0a\\x7f\\xff");
}

TEST(Printable, CutsToTheLengthAskedFor) {
    EXPECT_EQ(printable("abcdef", 6), "abcdef");
    EXPECT_EQ(printable("abcdefg", 6), "abcd..");
    for (size_t length = 0; length < 12; ++length) {
        EXPECT_LE(printable("ab\xff\xff\xff\xff", length).size(), length);
        EXPECT_LE(printable(std::string(1000, 'a'), length).size(), length);
    }
}

std::string visible(const std::string& text, size_t size = 200) {
    std::string copy(size, '#');
    copy_visible(text.c_str(), copy.data(), size);
    return copy.c_str();
}

TEST(Visible, KeepsTextsInAnyLanguage) {
    for (const char* text : {"", "plain ~ text\nin two lines",
                             "Druck in der N\u00e4he \u2013 \u00b0C", "\u5727\u529b", "\U0001F30A"})
        EXPECT_EQ(visible(text), text);
}

TEST(Visible, ReplacesWhatMovesACursorOrTurnsALine) {
    EXPECT_EQ(visible("a\x1b]0;owned\x07 b"), "a?]0;owned? b");
    EXPECT_EQ(visible("tab\tcr\rdel\x7f"), "tab?cr?del?");
    EXPECT_EQ(visible("c1 \xc2\x9b"
                      "31m"),
              "c1 ?31m");
    EXPECT_EQ(visible("\u202e\u2066\u200f\u061c\u2028"), "?????");
}

TEST(Visible, ReplacesBytesThatAreNoUtf8) {
    EXPECT_EQ(visible("\x9b"
                      "31m \xff"),
              "?31m ?");
    EXPECT_EQ(visible("\xc3"), "?");                 // cut off
    EXPECT_EQ(visible("\xc0\x9b"), "??");            // longer than need be
    EXPECT_EQ(visible("\xed\xa0\x80"), "???");       // half of a surrogate pair
    EXPECT_EQ(visible("\xf4\x90\x80\x80"), "????");  // beyond the last character
}

TEST(Visible, CutsBetweenCharacters) {
    EXPECT_EQ(visible("abcdef", 4), "abc");
    EXPECT_EQ(visible("ab\u00e4", 4), "ab");
    EXPECT_EQ(visible("ab\u00e4", 5), "ab\u00e4");
    EXPECT_EQ(visible("abc", 1), "");
}

TEST(Visible, CopiesOntoItself) {
    char text[] = "\u202e a \x1b b";
    copy_visible(text, text, sizeof text);
    EXPECT_STREQ(text, "? a ? b");
}

}  // namespace
}  // namespace surrogate::impl
