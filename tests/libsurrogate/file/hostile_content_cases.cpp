// SPDX-License-Identifier: Apache-2.0
#include "tests/libsurrogate/file/hostile_files.hpp"
#include "tests/support/model_writer.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

HostileCase metadata_case(const std::string& name, const std::string& metadata,
                          std::vector<std::string> says) {
    return {name,
            [metadata] { return safetensors_bytes("{\"__metadata__\":" + metadata + "}", ""); },
            std::move(says)};
}

HostileCase card_case(const std::string& name, const std::string& card,
                      std::vector<std::string> says) {
    const json header{{"__metadata__", {{"surrogate.card", card}}}};
    return {name, [text = header.dump()] { return safetensors_bytes(text, ""); }, std::move(says)};
}

/// small_model() after a change.
HostileCase changed_case(const std::string& name, std::vector<std::string> says,
                         const std::function<void(ModelWriter&)>& change) {
    return {name,
            [change] {
                ModelWriter model = small_model();
                change(model);
                return model.bytes();
            },
            std::move(says)};
}

/// small_model() with an own card, checksums and all.
HostileCase checksums_case(const std::string& name, std::vector<std::string> says,
                           const std::function<void(json&)>& change) {
    return changed_case(name, std::move(says), [change](ModelWriter& model) {
        model.card = json::parse(model.card_text());
        model.with_checksums = false;
        change(model.card["checksums"]);
    });
}

HostileCase value_case(const std::string& name, const std::string& dtype, std::string_view bytes) {
    return changed_case(name, {"tensor 'bad'", "(2)", "not finite at flat index 1"},
                        [dtype, text = std::string(bytes)](ModelWriter& model) {
                            model.tensors.push_back({"bad", dtype, {2}, text});
                        });
}

HostileCase names_case(const std::string& name, const std::string& first, const std::string& second,
                       std::vector<std::string> says) {
    return changed_case(name, std::move(says), [first, second](ModelWriter& model) {
        model.tensors[0].name = first;
        model.tensors[1].name = second;
    });
}

}  // namespace

std::string model_bytes(std::string_view members, std::string_view data) {
    const json metadata{{"surrogate.card", small_card().dump()}};
    return safetensors_bytes(
        "{\"__metadata__\":" + metadata.dump() + ',' + std::string(members) + '}', data);
}

std::vector<HostileCase> metadata_cases() {
    const std::string card = json(small_card().dump()).dump();
    const auto beside_card = [&](const std::string& name, const std::string& member,
                                 std::vector<std::string> says) {
        return metadata_case(name, "{\"surrogate.card\":" + card + ',' + member + '}',
                             std::move(says));
    };
    return {
        metadata_case("IsArray", "[]", {"'__metadata__'", "expected an object, found an array"}),
        metadata_case("IsText", "\"card\"", {"'__metadata__'", "found \"card\""}),
        metadata_case("ValueIsNumber", R"({"step":3})",
                      {"metadata key 'step'", "expected a string, found 3"}),
        metadata_case("ValueIsNull", R"({"step":null})", {"metadata key 'step'", "found null"}),
        metadata_case("CardIsObject", R"({"surrogate.card":{}})",
                      {"'surrogate.card'", "found an object"}),
        metadata_case("NoCard", "{}", {"'surrogate.card' is missing", "save_file"}),
        metadata_case("CardOfAnotherTool", R"({"format":"pt"})",
                      {"'surrogate.card' is missing", "json.dumps"}),
        metadata_case("CardMisspelt", R"({"surogate.card":"{}"})",
                      {"'surogate.card'", "did you mean 'surrogate.card'"}),
        beside_card("UnknownKeyOfOurs", R"("surrogate.plugin":"evil.so")",
                    {"unknown metadata key 'surrogate.plugin'"}),
        beside_card("ChecksumKeyMisspelt", R"("surrogate.card_checksun":"0")",
                    {"'surrogate.card_checksun'", "did you mean 'surrogate.card_checksum'"}),
        beside_card("ChecksumKeyWithOtherPrefix", R"("currogate.card_checksum":"0")",
                    {"'currogate.card_checksum'"}),
        beside_card("ChecksumIsShort", R"("surrogate.card_checksum":"0")",
                    {"'surrogate.card_checksum'", "16 lower-case"}),
        beside_card("ChecksumIsUpperCase", R"("surrogate.card_checksum":"0123456789ABCDEF")",
                    {"16 lower-case"}),
        beside_card(
            "ChecksumIsAnother", R"("surrogate.card_checksum":"0123456789abcdef")",
            {"'surrogate.card_checksum'", "the card has changed", "expected 0123456789abcdef"}),
    };
}

std::vector<HostileCase> content_cases() {
    return {
        card_case("CardIsEmpty", "", {"card: not valid JSON at offset"}),
        card_case("CardIsArray", "[]", {"card: expected an object, found an array"}),
        card_case("CardIsDeep", R"({"network":)" + std::string(100'000, '['),
                  {"card: nested deeper than 8"}),
        card_case("CardHasDuplicateKey", R"({"format":1,"format":1})",
                  {"card: duplicate key 'format'"}),
        card_case("CardHasZeroByte", std::string("{}\0", 3), {"card: zero byte at offset 2"}),
        card_case("CardOfNewerFormat", R"({"format":2,"family":"flare","network":{}})",
                  {"'format'", "newer version"}),
        card_case("CardWithUnknownKey",
                  R"({"format":1,"family":"flare","network":{},"plugin":"evil.so"})",
                  {"card: unknown key 'plugin'"}),
        {"LargestTreeOfTheHeader",  // the most memory that counts and strings allow, rejected late
         [] {
             std::string text = "{";
             for (int i = 0; i < 49'998; ++i)
                 text += '"' + std::to_string(i) + std::string(14, 'k') + "\":\"" +
                         std::string(21, 'v') + "\",";
             return safetensors_bytes(text + "\"w\":0}", "");
         },
         {"tensor '0kkk", "expected an object, found \"vvv"}},
        {"CardOfManyValues",
         [] {
             const json header{{"__metadata__", {{"surrogate.card", "{\"network\":[0" + [] {
                                                      std::string zeros;
                                                      for (int i = 0; i < 500'000; ++i)
                                                          zeros += ",0";
                                                      return zeros;
                                                  }() + "]}"}}}};
             return safetensors_bytes(header.dump(), "");
         },
         {"card: more than 100000 keys and values"}},
        changed_case("DataHasChanged",
                     {"tensor 'encoder.bias' at offset", "has changed", "checksum"},
                     [](ModelWriter& model) {
                         model.card = json::parse(model.card_text());
                         model.with_checksums = false;
                         model.tensors[1].bytes[3] ^= 1;
                     }),
        checksums_case("ChecksumMissing",
                       {"'checksums'", "tensor 'encoder.bias' of the file has none"},
                       [](json& checksums) { checksums.erase("encoder.bias"); }),
        checksums_case("ChecksumOfNoTensor", {"'checksums'", "no tensor 'encoder.bia'"},
                       [](json& checksums) { checksums["encoder.bia"] = "0123456789abcdef"; }),
        checksums_case("ChecksumMisspelt",
                       {"'encoder.bias' of the file has none", "'encoder.bia'?"},
                       [](json& checksums) {
                           checksums["encoder.bia"] = checksums["encoder.bias"];
                           checksums.erase("encoder.bias");
                       }),
        checksums_case("ChecksumIsNumber", {"'checksums' tensor 'encoder.bias'", "found 5"},
                       [](json& checksums) { checksums["encoder.bias"] = 5; }),
        value_case("Float32IsNan", "F32", {"\0\0\0\0\0\0\xc0\x7f", 8}),
        value_case("Float32IsInfinite", "F32", {"\0\0\0\0\0\0\x80\xff", 8}),
        value_case("Float32SignallingNan", "F32", {"\0\0\0\0\1\0\x80\x7f", 8}),
        value_case("Float64IsNan", "F64", {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf8\x7f", 16}),
        value_case("Float64IsInfinite", "F64", {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\xff", 16}),
        value_case("Float16IsInfinite", "F16", {"\0\0\0\x7c", 4}),
        value_case("Bfloat16IsNan", "BF16", {"\0\0\xc0\x7f", 4}),
        value_case("Bfloat16IsInfinite", "BF16", {"\0\0\x80\xff", 4}),
        value_case("Float16IsNan", "F16", {"\0\0\1\xfc", 4}),
        // half of the distance from the largest float to the next power of 2, and 1e300
        value_case("Float64RoundsToInfinity", "F64",
                   {"\0\0\0\0\0\0\0\0\0\0\0\xf0\xff\xff\xef\x47", 16}),
        value_case("Float64IsBeyondSingle", "F64",
                   {"\0\0\0\0\0\0\0\0\x9c\x75\0\x88\x3c\xe4\x37\xfe", 16}),
        names_case("PrefixesMakeNamesEqual", "module.w", "_orig_mod.module.w",
                   {"two tensors are called 'w'"}),
        names_case("PrefixMakesNamesEqual", "w", "_orig_mod.w", {"two tensors are called 'w'"}),
        names_case("NameIsOnlyAPrefix", "module.", "w", {"a tensor has an empty name"}),
        names_case("NameIsEmpty", "", "w", {"a tensor has an empty name"}),
    };
}

}  // namespace surrogate::test
