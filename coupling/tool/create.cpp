// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/create.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <surrogate/surrogate.hpp>

#include "coupling/job/model_bytes.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/text.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

constexpr size_t n_check_point = 5;

/// Returns the entry of the card for NAME or NAME=UNIT.
json field(const std::string& text) {
    const size_t at = text.find('=');
    const std::string unit = at == std::string::npos ? "1" : text.substr(at + 1);
    return {{"name", text.substr(0, at)}, {"unit", unit}, {"mean", 0}, {"std", 1}};
}

json inputs_of(const CreateArguments& arguments) {
    json inputs = json::array();
    for (const std::string& text : arguments.coordinates) {
        json input = field(text);
        input["role"] = "coordinate";
        input["axis"] = inputs.size();
        inputs.push_back(std::move(input));
    }
    for (const std::string& text : arguments.inputs) inputs.push_back(field(text));
    for (const std::string& text : arguments.numbers) {
        inputs.push_back(field(text));
        inputs.back()["role"] = "cloud";
    }
    return inputs;
}

/// Returns the numbers of "1, 2.5, -3".
std::vector<double> numbers_of(const std::string& option, const std::string& text) {
    std::vector<double> numbers;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        const size_t first = word.find_first_not_of(' ');
        const size_t last = word.find_last_not_of(' ');
        const std::string bare =
            first == std::string::npos ? "" : word.substr(first, last - first + 1);
        const auto value = finite_number(bare);
        if (!value)
            fail(option + " has '" + one_line(bare) +
                 "', expected finite numbers separated by commas");
        numbers.push_back(*value);
    }
    return numbers;
}

/// Returns the rows of "1,2;3,4".
std::vector<std::vector<double>> rows_of(const std::string& text) {
    std::vector<std::vector<double>> rows;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line, ';');)
        rows.push_back(numbers_of("--matrix", line));
    return rows;
}

/// Returns input c of point p of the check case, exact in single precision. A number per cloud is
/// equal at all points.
double check_input(const json& input, size_t p, size_t c) {
    const bool is_number = input.value("role", "") == "cloud";
    return 0.25 * static_cast<double>((7 * (is_number ? 0 : p) + 3 * c) % 11) - 1;
}

void add_check_case(const json& card, const std::vector<std::vector<double>>& matrix,
                    const std::vector<double>& offset, ModelBytes& bytes) {
    const json& inputs = card["inputs"];
    std::vector<float> x, y;
    std::vector<double> y64;
    for (size_t p = 0; p < n_check_point; ++p) {
        for (size_t c = 0; c < inputs.size(); ++c)
            x.push_back(static_cast<float>(check_input(inputs[c], p, c)));
        for (size_t o = 0; o < matrix.size(); ++o) {
            double sum = offset[o];
            for (size_t c = 0; c < inputs.size(); ++c)
                sum += matrix[o][c] * check_input(inputs[c], p, c);
            y.push_back(static_cast<float>(sum));
            y64.push_back(sum);
        }
    }
    const auto shape = [](size_t n) {
        return std::vector<int64_t>{1, n_check_point, static_cast<int64_t>(n)};
    };
    bytes.add("check/input/x", "F32", shape(inputs.size()), x.data(), x.size() * sizeof(float));
    bytes.add("check/output/y", "F32", shape(matrix.size()), y.data(), y.size() * sizeof(float));
    bytes.add("check/output64/y", "F64", shape(matrix.size()), y64.data(),
              y64.size() * sizeof(double));
}

/// Returns the file. A matrix that does not fit the fields has no check case; the library then
/// reports its size.
std::string model_of(const CreateArguments& arguments) {
    const auto matrix = rows_of(arguments.matrix);
    auto offset = numbers_of("--offset", arguments.offset);
    if (arguments.offset.empty()) offset.resize(matrix.size());
    json card = {{"format", 1}, {"family", arguments.family}};
    card["network"] = {{"matrix", matrix}, {"offset", offset}};
    card["inputs"] = inputs_of(arguments);
    card["outputs"] = json::array();
    for (const std::string& text : arguments.outputs) card["outputs"].push_back(field(text));
    ModelBytes bytes;
    bytes.set_card(card.dump());
    bool fits = offset.size() == matrix.size();
    for (const auto& row : matrix) fits = fits && row.size() == card["inputs"].size();
    if (fits) add_check_case(card, matrix, offset, bytes);
    bytes.add_checksums();
    return bytes.bytes();
}

}  // namespace

void create(const Job& job, const CreateArguments& arguments) {
    OutputFile output{option_text("OUT", arguments.out), arguments.out};
    output.earlier = arguments.overwrite ? Earlier::replaced : Earlier::stays;
    check_outputs(job, {}, {output});
    std::string bytes;
    job.agree([&] {
        if (arguments.family != "affine")
            fail("FAMILY is '" + one_line(arguments.family) +
                 "', expected affine; 'surrogate train' makes models of the other families");
        if (job.is_root()) bytes = model_of(arguments);
    });
    const Context context = job.make_context();
    const Model model(context, bytes.data(), static_cast<int64_t>(bytes.size()));
    job.agree([&] {
        if (job.is_root()) write_output(arguments.out, bytes);
    });
    if (!job.is_root()) return;
    print("wrote " + one_line(arguments.out) + ": affine, " +
          std::to_string(model.inputs().size()) + " inputs, " +
          std::to_string(model.outputs().size()) + " outputs\n");
}

}  // namespace surrogate::tool
