// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/usage.hpp"

#include <sstream>

#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/tool/commands.hpp"

namespace surrogate::tool {

namespace {

/// The words after the program's name.
using Words = std::vector<std::string>;

bool is_option(const std::string& word) {
    return word.size() > 1 && word[0] == '-';
}

std::string suggestion(const std::string& word, const Words& known) {
    const std::string near = near_word(word, known);
    return near.empty() ? "" : "; did you mean '" + near + "'?";
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* find_subcommand(const CLI::App& app, const Words& words) {
    for (const CLI::App* subcommand : subcommands_of(app))
        if (!words.empty() && subcommand->get_name() == words[0]) return subcommand;
    return nullptr;
}

/// Returns suggestions for options that a command does not have, one line each.
std::string suggestions(const CLI::App& app, const Words& words) {
    const CLI::App* subcommand = find_subcommand(app, words);
    if (subcommand == nullptr) return "";
    Words known;
    for (const CLI::Option* option : subcommand->get_options())
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    std::string text;
    for (const std::string& word : words) {
        const std::string name = word.substr(0, word.find('='));
        if (!is_option(name) || subcommand->get_option_no_throw(name) != nullptr) continue;
        if (const std::string near = suggestion(name, known); !near.empty())
            text += one_line(name) + near + "\n";
    }
    return text;
}

/// Returns file and --json of a `check` with invalid options, because the report is written in
/// every case. `others`: the words that may name files.
CheckArguments recover_check_arguments(const Words& words, Words& others) {
    CheckArguments check;
    const std::string json = "--json";
    for (size_t i = 1; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == json && i + 1 < words.size()) {
            check.json = words[++i];
        } else if (word.rfind(json + "=", 0) == 0) {
            check.json = word.substr(json.size() + 1);
        } else if (!is_option(word)) {
            others.push_back(word);
            if (check.file.empty()) check.file = word;
        } else if (const size_t at = word.find('='); at != std::string::npos) {
            others.push_back(word.substr(at + 1));
        }
    }
    return check;
}

/// Writes the report of a `check` whose command line is wrong.
void report_rejected_check(const Job& job, const Words& words, const std::string& error) {
    if (words.empty() || words[0] != "check") return;
    Words others;
    const CheckArguments arguments = recover_check_arguments(words, others);
    report_usage_error(job, arguments, error, others);
}

/// Converts `help` and `help check` to the option that every subcommand has.
Words words_of(int argc, char** argv) {
    Words words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "help") {
        words.erase(words.begin());
        words.push_back("--help");
    }
    return words;
}

/// Throws CLI::ParseError if the first word is not a subcommand; CLI11 would report a missing one.
void require_subcommand(const CLI::App& app, const Words& words) {
    if (words.empty() || is_option(words[0]) || find_subcommand(app, words) != nullptr) return;
    Words known;
    std::string all;
    for (const CLI::App* subcommand : subcommands_of(app)) {
        known.push_back(subcommand->get_name());
        all += (all.empty() ? "" : ", ") + known.back();
    }
    throw CLI::ExtrasError("surrogate: '" + one_line(words[0]) + "' is not a command (" + all +
                               ")" + suggestion(words[0], known),
                           CLI::ExitCodes::ExtrasError);
}

/// Prints the help or the error on rank 0, and returns the exit status.
Exit report_parse_error(const Job& job, const CLI::App& app, const CLI::ParseError& error,
                        const Words& words) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    if (job.is_root()) {
        print(out.str());
        const std::string prefix = "surrogate: ", text = err.str();
        if (code != 0)
            print_error((text.starts_with(prefix) ? "" : prefix) + text + suggestions(app, words));
    }
    if (code == 0) return Exit::success;
    report_rejected_check(job, words, error.what());
    return Exit::bad_usage;
}

}  // namespace

Request parse_command_line(const Job& job, int argc, char** argv, Arguments& arguments) {
    const auto app = make_commands(arguments);
    const Words words = words_of(argc, argv);
    try {
        require_subcommand(*app, words);
        app->parse(Words(words.rbegin(), words.rend()));  // CLI11 reads them in reverse order
    } catch (const CLI::ParseError& error) {
        return {"", report_parse_error(job, *app, error, words)};
    }
    return {app->get_subcommands().front()->get_name()};
}

}  // namespace surrogate::tool
