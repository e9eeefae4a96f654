// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/card_edit.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "coupling/job/job.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;
using tool::remove_value;
using tool::set_value;

json card() {
    return json::parse(R"({"inputs": [{"name": "velocity"}, {"name": "velocity.x", "unit": "m/s"},
        {"name": "2", "unit": "K"}], "network": {"depths": [1, 2]}})");
}

TEST(CardEdit, FieldsHaveNamesWithDots) {
    json edited = card();
    EXPECT_EQ(set_value(edited, "inputs.velocity.x.unit=cm/s"),
              "inputs.velocity.x.unit: \"m/s\" -> \"cm/s\"");
    EXPECT_EQ(edited["inputs"][1]["unit"], "cm/s");
    set_value(edited, "inputs.velocity.unit=km/s");
    EXPECT_EQ(edited["inputs"][0]["unit"], "km/s");
}

TEST(CardEdit, ANameWinsOverANumber) {
    json edited = card();
    set_value(edited, "inputs.2.unit=degC");
    EXPECT_EQ(edited["inputs"][2]["unit"], "degC");
    set_value(edited, "inputs.0.unit=1");
    EXPECT_EQ(edited["inputs"][0]["unit"], 1);
}

TEST(CardEdit, ValuesAreJsonOrElseTexts) {
    json edited = card();
    for (const char* text :
         {"a=1", "b=true", "c=null", "d=[1, 2]", "e=m^2/(Pa s)", "f=\"12\"", "g="})
        set_value(edited, text);
    EXPECT_EQ(edited["a"], 1);
    EXPECT_EQ(edited["b"], true);
    EXPECT_EQ(edited["c"], nullptr);
    EXPECT_EQ(edited["d"], json({1, 2}));
    EXPECT_EQ(edited["e"], "m^2/(Pa s)");
    EXPECT_EQ(edited["f"], "12");
    EXPECT_EQ(edited["g"], "");
    set_value(edited, "provenance.made.by=us");
    EXPECT_EQ(edited["provenance"]["made"]["by"], "us");
}

TEST(CardEdit, EntriesOfListsAreRemovedAndNotMade) {
    json edited = card();
    EXPECT_EQ(remove_value(edited, "inputs.velocity"),
              "inputs.velocity: {\"name\":\"velocity\"}, removed");
    EXPECT_EQ(edited["inputs"].size(), 2u);
    set_value(edited, "network.depths.1=5");
    EXPECT_EQ(edited["network"]["depths"], json({1, 5}));
    EXPECT_THROW(set_value(edited, "network.depths.2=5"), tool::Failure);
    EXPECT_THROW(remove_value(edited, "network.depths.2"), tool::Failure);
    EXPECT_THROW(remove_value(edited, "network.width"), tool::Failure);
    EXPECT_THROW(set_value(edited, "network..width=1"), tool::Failure);
    EXPECT_THROW(set_value(edited, "=1"), tool::Failure);
}

}  // namespace
}  // namespace surrogate::test
