// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/file/card.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "libsurrogate/src/file/unit.hpp"
#include "tests/support/model_writer.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::impl {
namespace {

using kernels::Status;
using nlohmann::json;
using test::small_card;

TEST(Card, FieldsAreReadWithTheirDefaults) {
    const Card card = parse_card(small_card().dump());
    EXPECT_EQ(card.family, "flare");
    EXPECT_EQ(*card.network, small_card()["network"]);
    EXPECT_EQ((*card.provenance)["license"], "Apache-2.0");
    ASSERT_EQ(card.inputs.size(), 3u);
    EXPECT_TRUE(card.inputs[1].is_coordinate);
    EXPECT_EQ(card.inputs[1].axis, 1);
    EXPECT_EQ(card.inputs[2].name, "mobility");
    EXPECT_EQ(card.inputs[2].unit, "m^2/(Pa s)");
    EXPECT_FALSE(card.inputs[2].is_coordinate);
    EXPECT_EQ(card.inputs[2].axis, -1);
    EXPECT_EQ(card.inputs[2].mean, 8.1);
    EXPECT_EQ(card.inputs[2].std, 3.4);
    EXPECT_EQ(card.inputs[2].min, 3.0);
    EXPECT_EQ(card.inputs[2].max, 12.0);
    ASSERT_EQ(card.outputs.size(), 1u);
    EXPECT_EQ(card.outputs[0].min, -INFINITY);
    EXPECT_EQ(card.outputs[0].max, INFINITY);
    EXPECT_TRUE(card.checksums.empty());
}

TEST(Card, BareNetworkNeedsThreeKeys) {
    const Card card = parse_card(R"({"format": 1, "family": "hept", "network": {}})");
    EXPECT_EQ(card.family, "hept");
    EXPECT_TRUE(card.inputs.empty() && card.outputs.empty());
    EXPECT_EQ(*card.provenance, json::object());
    EXPECT_EQ(*card.conventions, json::object());
}

TEST(Card, ConventionsAreKept) {
    json card = small_card();
    card["conventions"] = "torch-harmonics 0.9.3";
    card["theta_cutoff_rule"] = "models";
    EXPECT_EQ(
        *parse_card(card.dump()).conventions,
        json::parse(R"({"conventions": "torch-harmonics 0.9.3", "theta_cutoff_rule": "models"})"));
    card["conventions"] = json{{"a", 1}};
    EXPECT_EQ((*parse_card(card.dump()).conventions)["conventions"]["a"], 1);
}

TEST(Card, NamesThatCannotBeSeenWholeAreRefused) {
    struct Row {
        const char* bad;
        const char* shown;
    };
    const Row rows[] = {
        {"\x1b[2J", "\\x1b[2J"},
        {"\n", "\\x0a"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b", "\\xc2\\x9b"},
        {"\xe2\x80\xae", "\\xe2\\x80"},
        {"\xe2\x81\xa6", "\\xe2\\x81"},
        {"\xef\xbb\xbf", "\\xef\\xbb"},
        {"\xc2\xad", "\\xc2\\xad"},
    };
    for (const Row& row : rows)
        for (const char* key : {"inputs", "outputs"}) {
            json card = small_card();
            card[key].back()["name"] = std::string("mob") + row.bad;
            const auto refused = test::refusal([&] { parse_card(card.dump()); });
            EXPECT_EQ(refused.status, Status::bad_file) << row.shown;
            EXPECT_TRUE(refused.says("offset 3")) << refused.text;
            EXPECT_TRUE(refused.says(row.shown)) << refused.text;
            card = small_card();
            card[key].back()["unit"] = std::string("m") + row.bad;
            EXPECT_EQ(test::refusal([&] { parse_card(card.dump()); }).status, Status::bad_file);
        }
    json card = small_card();
    card["inputs"].back()["name"] = "Porosit\xc3\xa4t \xcf\x86";
    EXPECT_EQ(parse_card(card.dump()).inputs.back().name, "Porosit\xc3\xa4t \xcf\x86");
    card["provenance"]["title"] = "\x1b[2J";  // free text: who prints it makes it visible
    EXPECT_EQ((*parse_card(card.dump()).provenance)["title"], "\x1b[2J");
}

TEST(Card, ChecksumsAreNumbers) {
    json card = small_card();
    card["checksums"] = {{"a", "0123456789abcdef"}, {"b", "ffffffffffffffff"}};
    EXPECT_EQ(parse_card(card.dump()).checksums,
              (std::map<std::string, uint64_t>{{"a", 0x0123456789abcdef}, {"b", ~uint64_t{0}}}));
}

TEST(Card, FieldRoleMayBeWritten) {
    json card = small_card();
    card["inputs"][2]["role"] = "field";
    card["outputs"][0]["role"] = "field";
    EXPECT_FALSE(parse_card(card.dump()).inputs[2].is_coordinate);
    EXPECT_FALSE(parse_card(card.dump()).outputs[0].is_class);
}

TEST(Card, OutputsMayBeClasses) {
    json card = small_card();
    const json sea =
        json::parse(R"({"name": "sea", "role": "class", "unit": "1", "mean": 0, "std": 1})");
    card["outputs"] = json::array({sea, sea});
    card["outputs"][1]["name"] = "land";
    card["outputs"][1]["unit"] = "";
    const Card found = parse_card(card.dump());
    EXPECT_TRUE(found.outputs[0].is_class && found.outputs[1].is_class);
    const auto expect_refused = [&](const json& change, const char* key, const char* text) {
        json wrong = card;
        wrong["outputs"][1].merge_patch(change);
        const test::Refusal refused = test::refusal([&] { parse_card(wrong.dump()); });
        EXPECT_EQ(refused.status, Status::bad_file) << change;
        EXPECT_TRUE(refused.says("'outputs[1]." + std::string(key) + "'")) << refused.text;
        EXPECT_TRUE(refused.says(text)) << refused.text;
    };
    expect_refused({{"unit", "m"}}, "unit", "expected \"1\"");
    expect_refused({{"mean", 0.5}}, "mean", "expected 0");
    expect_refused({{"std", 2}}, "std", "expected 1");
    expect_refused({{"max", 2}}, "max", "expected no range");
    expect_refused({{"role", "field"}}, "role", "expected \"class\" for all outputs or for none");
    expect_refused({{"role", "clas"}}, "role", "expected \"class\" or \"field\", found \"clas\"");
}

/// A change of small_card() by a JSON merge patch at a location (null removes), and the expected
/// parts of the error text.
struct BadCard {
    const char* place;
    const char* value;  // "remove" takes the key away
    std::vector<std::string> says;
};

const BadCard bad_cards[] = {
    {"/format", "2", {"'format'", "newer version", "format 2"}},
    {"/format", "18446744073709551615", {"'format'", "18446744073709551615"}},
    {"/format", "0", {"'format'", "expected 1, found 0"}},
    {"/format", "-1", {"'format'", "found -1"}},
    {"/format", "1.0", {"'format'", "integer", "1.0"}},
    {"/format", "\"1\"", {"'format'", "integer", "\"1\""}},
    {"/format", "remove", {"card: key 'format' is missing"}},
    {"/family", "remove", {"card: key 'family' is missing"}},
    {"/family", "3", {"'family'", "expected a string, found 3"}},
    {"/family", "\"\"", {"'family'", "expected a name"}},
    {"/network", "remove", {"card: key 'network' is missing"}},
    {"/network", "[]", {"'network'", "expected an object, found an array"}},
    {"/provenance", "\"me\"", {"'provenance'", "expected an object, found \"me\""}},
    {"/conventions", "3", {"'conventions'", "found 3"}},
    {"/theta_cutoff_rule", "[]", {"'theta_cutoff_rule'", "expected a string"}},
    {"/famly", "\"flare\"", {"unknown key 'famly'", "did you mean 'family'?", "known: format"}},
    {"/inputs", "remove", {"card: key 'inputs' is missing", "give both"}},
    {"/outputs", "remove", {"card: key 'outputs' is missing", "give both"}},
    {"/inputs", "[]", {"'inputs'", "at least one object", "0 values"}},
    {"/outputs", "{}", {"'outputs'", "found an object"}},
    {"/inputs/0", "7", {"'inputs[0]'", "expected an object, found 7"}},
    {"/inputs/2/sdt", "1", {"'inputs[2]'", "unknown key 'sdt'", "'std'"}},
    {"/inputs/2/name", "remove", {"'inputs[2]'", "'name' is missing"}},
    {"/inputs/2/name", "\"\"", {"'inputs[2].name'"}},
    {"/inputs/2/name", "\"x\"", {"'inputs[2].name'", "'x' appears twice"}},
    {"/inputs/2/unit", "remove", {"'inputs[2]'", "'unit' is missing"}},
    {"/inputs/2/unit", "1", {"'inputs[2].unit'", "expected a string, found 1"}},
    {"/inputs/2/unit", "\"m^\"", {"'inputs[2].unit'", "'m^'", "offset 2"}},
    {"/inputs/2/mean", "remove", {"'inputs[2]'", "'mean' is missing"}},
    {"/inputs/2/mean", "\"0\"", {"'inputs[2].mean'", "expected a number, found \"0\""}},
    {"/inputs/2/mean", "null", {"'inputs[2].mean'", "expected a number, found null"}},
    {"/inputs/2/std", "remove", {"'inputs[2]'", "'std' is missing"}},
    {"/inputs/2/std", "0", {"'inputs[2].std'", "above 0, found 0"}},
    {"/inputs/2/std", "-1.5", {"'inputs[2].std'", "above 0, found -1.5"}},
    {"/inputs/2/min", "13", {"'inputs[2].max'", "min = 13", "12.0"}},
    {"/inputs/2/min", "true", {"'inputs[2].min'", "found true"}},
    {"/inputs/2/role", "\"feld\"", {"'inputs[2].role'", "\"feld\""}},
    {"/inputs/2/role", "1", {"'inputs[2].role'", "expected a string"}},
    {"/inputs/2/role", "\"coordinate\"", {"'inputs[2]'", "'axis' is missing"}},
    {"/inputs/2/axis", "1", {"'inputs[2].axis'", "coordinate"}},
    {"/inputs/0/axis", "8", {"'inputs[0].axis'", "at most 7, found 8"}},
    {"/inputs/0/axis", "-1", {"'inputs[0].axis'", "found -1"}},
    {"/inputs/0/axis", "1", {"'inputs[1].axis'", "axis 1 appears twice"}},
    {"/outputs/0/role", "\"coordinate\"", {"'outputs[0].role'", "\"class\""}},
    {"/outputs/0/axis", "0", {"'outputs[0]'", "unknown key 'axis'"}},
    {"/inputs/2/role", "\"class\"", {"'inputs[2].role'", "expected \"coordinate\""}},
    {"/checksums", "[]", {"'checksums'", "expected an object"}},
    {"/checksums", R"({"a": 1})", {"'checksums' tensor 'a'", "expected a string, found 1"}},
    {"/checksums", R"({"a": "12"})", {"tensor 'a'", "16 lower-case hex digits", "'12'"}},
    {"/checksums", R"({"a": "0123456789ABCDEF"})", {"tensor 'a'", "lower-case"}},
};

TEST(Card, WhatIsWrongIsRefusedByName) {
    for (const BadCard& bad : bad_cards) {
        const json::json_pointer place(bad.place);
        json card = small_card();
        if (std::string(bad.value) == "remove")
            card[place.parent_pointer()].erase(place.back());
        else
            card[place] = json::parse(bad.value);
        const test::Refusal found = test::refusal([&] { parse_card(card.dump()); });
        EXPECT_EQ(found.status, Status::bad_file) << bad.place << " " << bad.value;
        for (const std::string& part : bad.says)
            EXPECT_TRUE(found.says(part)) << bad.place << " " << bad.value << ": " << found.text;
    }
}

TEST(Card, WhatIsNoObjectIsRefused) {
    for (const char* text : {"", "[]", "1", "\"card\"", "null", "{"}) {
        const test::Refusal found = test::refusal([&] { parse_card(text); });
        EXPECT_EQ(found.status, Status::bad_file) << text;
        EXPECT_TRUE(found.says("card: ")) << found.text;
    }
}

TEST(Unit, WhatPhysicistsWriteIsRead) {
    for (const char* unit : {"",
                             "1",
                             "m",
                             "Pa",
                             "m^2/(Pa s)",
                             "m^2/s^2",
                             "1/s",
                             "kg m-3",
                             "kg m^-3",
                             "m s**-1",
                             "W/(m^2 K)",
                             "W/m^2/K",
                             "N*m",
                             "N.m",
                             "N\u00b7m",
                             "J kg^(-1) K^(-1)",
                             "m^(1/2)",
                             "m^0.5",
                             "1e-3 mol/l",
                             "10^3 kg",
                             "%",
                             "degC",
                             "degrees_north",
                             "\u00b5m",
                             "\u03bcm",
                             "\u03a9 m",
                             "\u00b0C",
                             "\u00c5",
                             "m / s",
                             "((m))^2",
                             "10.m",

                             "2 eV",
                             "1.5e3 m",
                             "1.5e+3 m",
                             "m+2",
                             "m2 s-2",
                             "rad",
                             "GeV/c^2",
                             "kg m s-2"})
        EXPECT_EQ(unit_problem(unit), "") << unit;
}

TEST(Unit, GarbageIsRefusedWithItsOffset) {
    struct {
        const char* unit;
        const char* says;
    } const cases[] = {
        {" ", "offset 0"},    {"m ", "offset 2"},     {" m", "offset 0"},   {"m//s", "offset 2"},
        {"m^", "offset 2"},   {"m^s", "offset 2"},    {"(m", "offset 2"},   {"m)", "offset 1"},
        {"()", "offset 1"},   {"/s", "offset 0"},     {"m/", "offset 2"},   {"m^(2", "offset 4"},
        {"m^(1/)", "offset"}, {"m$", "offset 1"},     {"m;s", "offset 1"},  {"m\ns", "\\x0a"},
        {"m\xff", "\\xff"},   {"<script>", "offset"}, {"m\"s", "offset 1"}, {"-m", "offset 0"},
        {"m^^2", "offset 2"}, {"m***2", "offset"},    {"(", "offset 1"},    {"m-", "offset 1"},
        {"2eV", "offset 2"}};
    for (const auto& [unit, says] : cases)
        EXPECT_NE(unit_problem(unit).find(says), std::string::npos)
            << '\'' << unit << "': " << unit_problem(unit);
    EXPECT_EQ(unit_problem(std::string(64, 'm')), "");
    EXPECT_EQ(unit_problem(std::string(65, 'm')), "is longer than 64 bytes");
    EXPECT_NE(unit_problem(std::string(64, '(')), "");
}

}  // namespace
}  // namespace surrogate::impl
