// SPDX-License-Identifier: Apache-2.0
// `surrogate convert` as a shell sees it: another card, the same weights, and files that load.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/coupling/tool/tool_case.hpp"

namespace surrogate::test {
namespace {

json card_of(const std::string& path) {
    const TensorFile file(path);
    return json::parse(file.header["__metadata__"]["surrogate.card"].get<std::string>());
}

std::string hash_of(const std::string& bytes) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits(bytes.data(), bytes.size())));
    return text;
}

/// The safetensors file without its metadata, as save_file() writes a state_dict.
std::string without_card(const std::string& path) {
    TensorFile file(path);
    file.header.erase("__metadata__");
    std::string header = file.header.dump();
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t n = header.size();
    std::string length(sizeof n, '\0');
    std::memcpy(length.data(), &n, sizeof n);
    return length + header + file.bytes.substr(file.data);
}

class Convert : public ToolTest {
protected:
    std::string out() const { return file("out.safetensors"); }
    void expect(int status, const std::string& arguments, const std::string& words) const {
        const Outcome outcome = surrogate("convert " + arguments);
        EXPECT_EQ(outcome.status, status) << arguments << ": " << outcome.text;
        EXPECT_NE(outcome.text.find(words), std::string::npos) << arguments << ": " << outcome.text;
    }
};

TEST_F(Convert, EditsTheCardAndKeepsAllTensors) {
    expect(0,
           darcy + " " + out() +
               " --set inputs.mobility.max=14.5 --set provenance.note='\"12\"' --set "
               "outputs.0.unit=Pa --remove provenance.license",
           "inputs.mobility.max: 12.0 -> 14.5");
    json wanted = card_of(darcy), found = card_of(out());
    for (json* card : {&wanted, &found}) card->erase("checksums");
    wanted["inputs"][2]["max"] = 14.5;
    wanted["provenance"]["note"] = "12";
    wanted["provenance"].erase("license");
    EXPECT_EQ(found, wanted);
    const TensorFile before(darcy), after(out());
    EXPECT_EQ(after.bytes.substr(after.data), before.bytes.substr(before.data));
    for (const auto& [name, entry] : before.header.items()) {
        if (name == "__metadata__") continue;
        EXPECT_EQ(after.header[name], entry) << name;
    }
    check(0, out());
}

TEST_F(Convert, ChecksumsAreThoseOfTheNewFile) {
    expect(0, tiny + " " + out(), "checksums of all tensors");
    const TensorFile model(out());
    const json sums = card_of(out())["checksums"];
    EXPECT_EQ(sums.size() + 1, model.header.size());
    for (const auto& [name, entry] : model.header.items()) {
        if (name == "__metadata__") continue;
        const auto begin = entry["data_offsets"][0].get<size_t>(),
                   end = entry["data_offsets"][1].get<size_t>();
        EXPECT_EQ(sums[name], hash_of(model.bytes.substr(model.data + begin, end - begin))) << name;
    }
    EXPECT_EQ(model.header["__metadata__"]["surrogate.card_checksum"],
              hash_of(model.header["__metadata__"]["surrogate.card"].get<std::string>()));
    std::string damaged = model.bytes;
    damaged[model.offset("in_proj.fc1.weight") + 1] ^= 1;
    write(file("damaged"), damaged);
    EXPECT_EQ(surrogate("info " + file("damaged")).status, 2);
    expect(0, out() + " " + file("plain") + " --no-checksums", "wrote");
    EXPECT_FALSE(card_of(file("plain")).contains("checksums"));
}

TEST_F(Convert, GivesACardToAFileWithoutOne) {
    write(file("bare"), without_card(darcy));
    expect(2, file("bare") + " " + out(), "has no card; add one with --card FILE");
    write(file("card.json"), surrogate("info --card " + darcy).text);
    expect(0, file("bare") + " " + out() + " --card " + file("card.json"), "wrote");
    json wanted = card_of(darcy), found = card_of(out());
    for (json* card : {&wanted, &found}) card->erase("checksums");
    EXPECT_EQ(found, wanted);
    check(0, out());
}

TEST_F(Convert, ACardThatContradictsTheTensorsIsRefused) {
    expect(2, darcy + " " + out() + " --set network.num_latents=32", "latent_q");
    expect(2, darcy + " " + out() + " --set network.num_blocks=5", "blocks.4");
    expect(2, darcy + " " + out() + " --set network.in_dim=2", "in_proj");
    expect(2, darcy + " " + out() + " --set network.num_haeds=8", "did you mean 'num_heads'");
    expect(2, darcy + " " + out() + " --set inputs.mobility.std=0", "std");
    expect(2, darcy + " " + out() + " --set family=flaer", "flare");
    EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(Convert, HyperparametersThatShapesDoNotShowAreLeftToCheck) {
    expect(0, darcy + " " + out() + " --set network.num_heads=4", "run surrogate check");
    check(1, out());
}

TEST_F(Convert, KeysAndNamesThatCannotBeAreRefused) {
    expect(2, darcy + " " + out() + " --set inputs.mobilty.unit=m", "did you mean 'mobility'?");
    expect(2, darcy + " " + out() + " --set inputs.7.unit=m", "3 entries are x, y, mobility");
    expect(2, darcy + " " + out() + " --remove provenance.licence", "did you mean 'license'?");
    expect(2, darcy + " " + out() + " --set nothing", "KEY=VALUE");
    expect(2, darcy + " " + out() + " --set family.name=x", "which has no keys");
    expect(2, darcy + " " + out() + " --card " + file("none.json"),
           "none.json': there is no such file");
    write(file("card.json"), "{ \"family\": ");
    expect(2, darcy + " " + out() + " --card " + file("card.json"), "is not JSON");
    expect(2, darcy, "OUT, the new file, is missing");
    expect(2, file("none") + " " + out(), "none");
    write(file("model.pt"), std::string("PK\x03\x04", 4) + std::string(100, 'x'));
    expect(2, file("model.pt") + " " + out(), "PyTorch");
    EXPECT_FALSE(std::filesystem::exists(out()));
}

TEST_F(Convert, WritesOverNothingUnlessAsked) {
    write(file("model"), read(tiny));
    expect(2, tiny + " " + file("model"), "exists; --overwrite replaces it");
    expect(2, file("model") + " " + file("model"), "is the file itself");
    EXPECT_EQ(read(file("model")), read(tiny));
    expect(0, file("model") + " " + file("model") + " --overwrite --set provenance.note=here",
           "provenance.note: (none) -> \"here\"");
    EXPECT_EQ(card_of(file("model"))["provenance"]["note"], "here");
    const std::string before = read(file("model"));
    expect(0, file("model") + " --dry-run", "would write a file: flare");
    expect(0, file("model") + " " + file("model") + " --overwrite --dry-run", "would write");
    expect(2, file("model") + " --dry-run --set network.num_latents=9", "latent_q");
    EXPECT_EQ(read(file("model")), before);
    std::filesystem::create_symlink("model", file("link"));
    expect(2, tiny + " " + file("link"), "exists; --overwrite replaces it");
    expect(0, tiny + " " + file("link") + " --overwrite", "wrote");
    EXPECT_FALSE(std::filesystem::is_symlink(file("link")));
    EXPECT_EQ(read(file("model")), before);
}

#ifdef SURROGATE_MPIRUN
TEST_F(Convert, RanksAgree) {
    const std::string program = SURROGATE_MPIRUN " 3 " SURROGATE_PROGRAM " convert ";
    EXPECT_EQ(shell(program + tiny + " " + out()).status, 0);
    check(0, out());
    const Outcome refused = shell(program + tiny + " " + out());
    EXPECT_EQ(refused.status, 2);
    EXPECT_EQ(refused.text.find("--overwrite"), refused.text.rfind("--overwrite"));
    EXPECT_EQ(shell(program + tiny + " " + file("x") + " --set network.num_latents=9").status, 2);
}
#endif

}  // namespace
}  // namespace surrogate::test
