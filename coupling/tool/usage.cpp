// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/usage.hpp"

#include <sstream>

#include "coupling/tool/check.hpp"
#include "coupling/tool/output.hpp"
#include "coupling/tool/text.hpp"

namespace surrogate::tool {

namespace {

bool is_option(const std::string& word) {
    return word.size() > 1 && word[0] == '-';
}

std::string suggestion(const std::string& word, const Words& known) {
    const std::string near = near_word(word, known);
    return near.empty() ? "" : "; did you mean '" + near + "'?";
}

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* find_verb(const CLI::App& app, const Words& words) {
    for (const CLI::App* verb : verbs_of(app))
        if (!words.empty() && verb->get_name() == words[0]) return verb;
    return nullptr;
}

/// What the options that a command does not have were meant to be, a line each.
std::string suggestions(const CLI::App& app, const Words& words) {
    const CLI::App* verb = find_verb(app, words);
    if (verb == nullptr) return "";
    Words known;
    for (const CLI::Option* option : verb->get_options())
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    std::string text;
    for (const std::string& word : words) {
        const std::string name = word.substr(0, word.find('='));
        if (!is_option(name) || verb->get_option_no_throw(name) != nullptr) continue;
        if (const std::string near = suggestion(name, known); !near.empty())
            text += one_line(name) + near + "\n";
    }
    return text;
}

/// File and --json of a `check` whose options were refused: the report is written in every case.
/// `others`: the words that may name files.
CheckArguments salvage(const Words& words, Words& others) {
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

/// The report of a `check` whose command line could not be understood.
void report_refusal(const Job& job, const Words& words, const std::string& error) {
    if (words.empty() || words[0] != "check") return;
    Words others;
    const CheckArguments arguments = salvage(words, others);
    report_usage_error(job, arguments, error, others);
}

}  // namespace

Words understood(int argc, char** argv) {
    Words words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "help") {
        words.erase(words.begin());
        words.push_back("--help");
    }
    return words;
}

void require_verb(const CLI::App& app, const Words& words) {
    if (words.empty() || is_option(words[0]) || find_verb(app, words) != nullptr) return;
    Words known;
    std::string all;
    for (const CLI::App* verb : verbs_of(app)) {
        known.push_back(verb->get_name());
        all += (all.empty() ? "" : ", ") + known.back();
    }
    throw CLI::ExtrasError("surrogate: '" + one_line(words[0]) + "' is not a command (" + all +
                               ")" + suggestion(words[0], known),
                           CLI::ExitCodes::ExtrasError);
}

Exit answer(const Job& job, const CLI::App& app, const CLI::ParseError& error, const Words& words) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    if (job.is_root()) {
        print(out.str());
        const std::string prefix = "surrogate: ", text = err.str();
        if (code != 0)
            complain((text.starts_with(prefix) ? "" : prefix) + text + suggestions(app, words));
    }
    if (code == 0) return Exit::success;
    report_refusal(job, words, error.what());
    return Exit::bad_usage;
}

}  // namespace surrogate::tool
