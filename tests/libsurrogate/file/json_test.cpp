// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/json.hpp"

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

using kernels::Status;
using nlohmann::json;
using test::Refusal;
using test::refusal;

void expect_refused(const std::string& text, const std::string& part) {
    const Refusal found = refusal([&] { parse_json(text, "header"); });
    EXPECT_EQ(found.status, Status::bad_file) << text.substr(0, 80);
    EXPECT_TRUE(found.says("header") && found.says(part)) << found.text;
}

TEST(Json, BuildsTheTreeThatThePlainParserBuilds) {
    for (const char* text :
         {"{}", "[]", "1", "-1", "1.5e3", "\"a\"", "null", "true",
          "  [1, [2, {\"a\": [false]}], 3]\n",
          R"({"a": {"b": [1, {"c": null}], "d": "\u00e4\n"}, "e": -0, "f": 18446744073709551615})"})
        EXPECT_EQ(parse_json(text, "header"), json::parse(text)) << text;
}

TEST(Json, DepthIsBounded) {
    EXPECT_EQ(parse_json("[[[[[[[[1]]]]]]]]", "header"), json::parse("[[[[[[[[1]]]]]]]]"));
    expect_refused("[[[[[[[[[1]]]]]]]]]", "deeper than 8");
    expect_refused(R"({"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}})", "deeper than 8");
    expect_refused(std::string(1'000'000, '['), "deeper than 8");
}

TEST(Json, KeysAndValuesAreCounted) {
    std::string numbers = "[0";
    for (int64_t i = 2; i < json_max_values; ++i) numbers += ",0";
    EXPECT_EQ(parse_json(numbers + "]", "header").size(), 99'999u);
    expect_refused(numbers + ",0]", "100000 keys and values");
    std::string keys = "{\"k\":0";
    for (int i = 0; i < 50'000; ++i) keys += ",\"k" + std::to_string(i) + "\":0";
    expect_refused(keys + "}", "100000 keys and values");
}

TEST(Json, StringsAreBoundedBeforeTheyAreCopied) {
    const std::string longest = '"' + std::string(json_max_piece - 1, 'a') + '"';
    EXPECT_EQ(parse_json(longest, "header").get_ref<const std::string&>().size(),
              json_max_piece - 1);
    expect_refused('"' + std::string(json_max_piece + 1, 'a') + '"', "in the string from offset 0");
    expect_refused("[1, \"" + std::string(json_max_piece + 1, 'a'), "in the string from offset 4");
    expect_refused('[' + longest + ',' + longest + ",\"abc\"]", "2097152 bytes together");
}

TEST(Json, EscapedQuotesDoNotEndAString) {
    EXPECT_EQ(parse_json(R"(["\"", "\\", "a\\\"b"])", "header"),
              json::parse(R"(["\"", "\\", "a\\\"b"])"));
    expect_refused(R"(["\)", "offset");
}

TEST(Json, DuplicateKeysAreNamed) {
    expect_refused(R"({"a": 1, "b": 2, "a": 1})", "duplicate key 'a'");
    expect_refused(R"({"a": 1, "\u0061": 1})", "duplicate key 'a'");
    EXPECT_EQ(parse_json(R"([{"a": 1}, {"a": 1}])", "header").size(), 2u);
}

TEST(Json, WhatIsNotJsonIsRefusedWithTheOffset) {
    for (const char* text : {"",
                             " ",
                             "{",
                             "[1,]",
                             "{\"a\"}",
                             "{'a': 1}",
                             "// a\n1",
                             "/* */ 1",
                             "NaN",
                             "Infinity",
                             "01",
                             "+1",
                             "1.",
                             "1e999",
                             "[1] 2",
                             "\"\xff\"",
                             "\"\xc0\x80\"",
                             "\"\xed\xa0\x80\"",
                             "\"\\ud800\"",
                             "\"\n\"",
                             "\"\x01\"",
                             "tru"})
        expect_refused(text, "not valid JSON at offset");
}

TEST(Json, ZeroBytesDoNotEndTheText) {
    expect_refused(std::string("{}\0", 3), "zero byte at offset 2");
}

TEST(Json, ReadersSayWhatWasExpectedAndFound) {
    const json tree =
        json::parse(R"({"n": 3, "x": 1.5, "s": "abc", "a": [1, 2], "o": {}, "m": -1})");
    const auto text = [](const std::function<void()>& work) { return refusal(work).text; };
    EXPECT_EQ(count_of(tree["n"], "n", 3), 3);
    EXPECT_EQ(number_of(tree["x"], "x"), 1.5);
    EXPECT_EQ(string_of(tree["s"], "s"), "abc");
    EXPECT_EQ(&member(tree, "n", "o"), &tree["n"]);
    require_keys(tree, "tree", {"n", "x", "s", "a", "o", "m"});
    EXPECT_EQ(text([&] { count_of(tree["n"], "n", 2); }), "n: expected at most 2, found 3");
    EXPECT_EQ(text([&] { count_of(tree["x"], "x", 2); }),
              "x: expected a non-negative integer, found 1.5");
    EXPECT_EQ(text([&] { count_of(tree["m"], "m", 2); }),
              "m: expected a non-negative integer, found -1");
    EXPECT_EQ(text([&] { number_of(tree["s"], "s"); }), "s: expected a number, found \"abc\"");
    EXPECT_EQ(text([&] { string_of(tree["a"], "a"); }),
              "a: expected a string, found an array of 2 values");
    EXPECT_EQ(text([&] { string_of(tree["o"], "o"); }), "o: expected a string, found an object");
    EXPECT_EQ(text([&] { member(tree, "q", "tree"); }), "tree: key 'q' is missing");
    EXPECT_EQ(text([&] { require_keys(tree["a"], "a", {}); }),
              "a: expected an object, found an array of 2 values");
    EXPECT_EQ(text([&] {
                  require_keys(json{{"shap", 1}}, "t", {"dtype", "shape"});
              }),
              "t: unknown key 'shap'; did you mean 'shape'? (known: dtype, shape)");
}

}  // namespace
}  // namespace surrogate::impl
