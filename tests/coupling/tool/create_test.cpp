// SPDX-License-Identifier: Apache-2.0
// `surrogate create`: files that load and pass their check, and texts for invalid command lines.
#include "tests/coupling/tool/tool_case.hpp"

namespace surrogate::test {
namespace {

class Create : public ToolTest {
protected:
    std::string out() const { return file("affine.safetensors"); }
    void expect(int status, const std::string& arguments, const std::string& words) const {
        const Outcome outcome = surrogate("create affine " + out() + " " + arguments);
        EXPECT_EQ(outcome.status, status) << arguments << ": " << outcome.text;
        EXPECT_NE(outcome.text.find(words), std::string::npos) << arguments << ": " << outcome.text;
        EXPECT_EQ(std::filesystem::exists(out()), status == 0) << arguments;
    }
};

TEST_F(Create, WritesAnAffineModelThatPassesItsCheck) {
    expect(0,
           "--input u=m/s --coordinate x=m --cloud load --output p=Pa --output q "
           "--matrix '-0.1, 2,3e2; 4,5,6' --offset -7,0.25",
           "affine, 3 inputs, 2 outputs");
    const json info = json::parse(surrogate("info --json " + out()).text);
    EXPECT_EQ(info["network"],
              json({{"matrix", {{-0.1, 2., 300.}, {4., 5., 6.}}}, {"offset", {-7., 0.25}}}));
    EXPECT_EQ(info["parameters"], 0);
    std::string names;
    for (const json& input : info["inputs"]) names += input["name"].get<std::string>() + " ";
    EXPECT_EQ(names, "x u load ");
    EXPECT_EQ(info["inputs"][1]["unit"], "m/s");
    EXPECT_EQ(info["inputs"][2]["role"], "cloud");
    std::vector<std::string> launchers = {""};
#ifdef SURROGATE_MPIRUN
    launchers.emplace_back(SURROGATE_MPIRUN " 3 ");
#endif
    for (const std::string& launcher : launchers) {
        for (const char* options : {"", " --reproducible", " --precision fp64"}) {
            const json report = check(0, out() + options, launcher);
            EXPECT_LT(report["relative_l2"], 1e-7) << report;
        }
    }
    const Outcome again = surrogate("create affine " + out() + " --input u --output p --matrix 1");
    EXPECT_EQ(again.status, 2);
    EXPECT_NE(again.text.find("--overwrite replaces it"), std::string::npos) << again.text;
}

TEST_F(Create, RejectsWhatDoesNotFit) {
    const std::string fields = "--input u --output p ";
    expect(2, fields + "--matrix 1,2", "found 2 columns, expected 1");
    expect(2, fields + "--matrix '1;2' --offset 1,2", "found 2 rows, expected 1");
    expect(2, fields + "--matrix 1 --offset 1,2", "found 2 numbers, expected 1");
    expect(2, fields + "--matrix nan", "--matrix has 'nan', expected finite numbers");
    expect(2, fields + "--matrix 1 --offset 1e999", "--offset has '1e999'");
    expect(2, fields + "--matrix 1,,2", "--matrix has ''");
    expect(2, "--output p --matrix 1", "inputs");
    expect(2, "--input u --input u --output p --matrix 1,2", "'u' appears twice");
    expect(2, "--input u=m^^2 --output p --matrix 1", "unit");
    expect(2, fields, "--matrix");
    const Outcome other = surrogate("create flare " + out() + " " + fields + "--matrix 1");
    EXPECT_EQ(other.status, 2);
    EXPECT_NE(other.text.find("FAMILY is 'flare', expected affine"), std::string::npos);
}

}  // namespace
}  // namespace surrogate::test
