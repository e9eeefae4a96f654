// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/convert.hpp"

#include <nlohmann/json.hpp>
#include <surrogate/surrogate.hpp>

#include "coupling/job/model_bytes.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/read_text.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/card_edit.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

/// Checks names before anything is read.
void check_names(const ConvertArguments& arguments) {
    const std::string& out = arguments.out;
    if (out.empty()) {
        if (!arguments.dry_run) fail("OUT, the new file, is missing; give it or use --dry-run");
        return;
    }
    std::vector<InputFile> inputs;
    if (!arguments.card.empty()) inputs.push_back({"the card", arguments.card});
    OutputFile output{option_text("OUT", out), out};
    output.earlier =
        arguments.overwrite ? Earlier::replaced : Earlier::stays;  // includes MODEL itself
    output.may_be_device = true;
    if (file::is_same_file(arguments.file, out))
        output.remedy = "it is the file itself, and --overwrite replaces it";
    check_outputs(inputs, {output});
}

json read_card(const std::string& path) {
    constexpr uint64_t largest_card = 16 << 20;  // as for a header of a model file
    const auto text = read_text(path, largest_card);
    if (!text)
        fail("cannot read the card '" + one_line(path) +
             "': " + why_unreadable(path, largest_card));
    try {
        return json::parse(*text);
    } catch (const json::parse_error& error) {
        fail("the card '" + one_line(path) + "' is not JSON: " + one_line(error.what()));
    }
}

/// Reads the file on rank 0. For a file in another format, such as a pickle of PyTorch, the library
/// reports the format and the remedy. Collective.
ModelBytes read_bytes(const Job& job, const Context& context, const std::string& file) {
    ModelBytes bytes;
    std::string problem;
    if (job.is_root()) try {
            bytes = ModelBytes::read(file);
        } catch (const Failure& failure) {
            problem = failure.what();
        }
    problem = job.broadcast(problem);
    if (problem.empty()) return bytes;
    const Model model(context, file);
    fail(problem);
}

/// Result on rank 0.
struct Converted {
    std::string bytes;
    std::string report;  ///< changes, one line each
    bool has_check_case = false;
};

Converted converted(const ConvertArguments& arguments, ModelBytes& model) {
    Converted result;
    const bool has_card = model.has_card();
    if (!has_card && arguments.card.empty())
        fail("'" + one_line(arguments.file) +
             "' has no card; add one with --card FILE (format: page reference/model-file.md; "
             "surrogate info MODEL --card prints the card of a model)");
    json card = arguments.card.empty() ? model.card() : read_card(arguments.card);
    if (!arguments.card.empty())
        result.report += std::string("card: ") + (has_card ? "replaced by '" : "'") +
                         one_line(arguments.card) + "'\n";
    for (const std::string& key : arguments.removes)
        result.report += remove_value(card, key) + "\n";
    for (const std::string& assignment : arguments.sets)
        result.report += set_value(card, assignment) + "\n";
    card.erase("checksums");
    model.set_card(card.dump());
    if (!arguments.no_checksums) model.add_checksums();
    result.has_check_case = model.has_check_case();
    result.bytes = model.bytes();
    return result;
}

}  // namespace

void convert(const Job& job, const ConvertArguments& arguments) {
    job.agree([&] {
        if (job.is_root()) check_names(arguments);
    });
    const Context context = job.make_context();
    ModelBytes bytes = read_bytes(job, context, arguments.file);
    Converted result;
    job.agree([&] {
        if (job.is_root()) result = converted(arguments, bytes);
    });
    const Model model(context, result.bytes.data(), static_cast<int64_t>(result.bytes.size()));
    const json about = json::parse(model.describe());
    job.agree([&] {
        if (job.is_root() && !arguments.dry_run) write_output(arguments.out, result.bytes);
    });
    if (!job.is_root()) return;
    const bool has_checked = result.has_check_case && about.at("check_truth") != "none";
    print(result.report + (arguments.dry_run ? "would write " : "wrote ") +
          one_line(arguments.out.empty() ? "a file" : arguments.out) + ": " +
          about.at("family").get<std::string>() + ", " +
          grouped(about.at("parameters").get<int64_t>()) + " parameters" +
          (arguments.no_checksums ? "" : ", checksums of all tensors") + "\n" +
          (has_checked ? "the check case is unchanged; run surrogate check\n"
                       : "no check case: wrong hyperparameters that do not change shapes are not "
                         "detected\n"));
}

}  // namespace surrogate::tool
