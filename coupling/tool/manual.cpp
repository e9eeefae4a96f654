// SPDX-License-Identifier: Apache-2.0
// Generates the manual page and the completion of the program from the description of its commands
// that the parser and --help use. Run by the build: surrogate_manual man|bash > FILE.
#include <sstream>
#include <string>
#include <vector>

#include "coupling/job/output.hpp"
#include "coupling/tool/commands.hpp"

namespace {

using namespace surrogate::tool;

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

bool is_positional(const CLI::Option& option) {
    return option.get_lnames().empty() && option.get_snames().empty();
}

std::string long_name(const CLI::Option& option) {
    return "--" + option.get_lnames().front();
}

/// Returns true if the next word is the value of the option.
bool has_value(const CLI::Option& option) {
    return option.get_items_expected_max() > 0;
}

// ---- man ----

/// Escapes text for troff: dashes, backslashes, and lines that would be requests.
std::string troff(const std::string& text) {
    std::string result;
    bool is_line_start = true;
    for (const char c : text) {
        if (is_line_start && (c == '.' || c == '\'')) result += "\\&";
        if (c == '\\')
            result += "\\e";
        else if (c == '-')
            result += "\\-";
        else
            result += c;
        is_line_start = c == '\n';
    }
    return result;
}

std::string man_option(const CLI::Option& option) {
    std::string name;
    for (const auto& letter : option.get_snames()) name += "-" + letter + ", ";
    name += is_positional(option) ? option.get_name() : long_name(option);
    std::string text = ".TP\n.B " + troff(name);
    if (has_value(option) && !is_positional(option))
        text += " \\fI" + troff(option.get_type_name()) + "\\fR";
    return text + "\n" + troff(option.get_description()) +
           (option.get_required() ? " (required)" : "") + "\n";
}

/// Formats the text below the options: paragraphs, exit status, example, each from its own line.
std::string man_footer(const std::string& footer) {
    std::string text;
    std::istringstream in(footer);
    for (std::string line; std::getline(in, line);) {
        const bool is_status = line.starts_with("Exit status: ");
        const bool is_example = line.starts_with("Example: ");
        if (is_status || is_example || text.empty()) text += ".PP\n";
        if (is_example) text += ".nf\n";
        text += troff(line) + "\n";
    }
    return text + (footer.find("Example: ") != std::string::npos ? ".fi\n" : "");
}

std::string usage_of(const CLI::App& verb) {
    std::string text = "surrogate " + verb.get_name();
    for (const CLI::Option* option : verb.get_options())
        if (is_positional(*option))
            text +=
                option->get_required() ? " " + option->get_name() : " [" + option->get_name() + "]";
    for (const CLI::Option* option : verb.get_options())
        if (!is_positional(*option) && option->get_required())
            text += " " + long_name(*option) + " " + option->get_type_name();
    return text + " [options]";
}

std::string man_page(const CLI::App& app) {
    std::string text =
        ".\\\" Made from the program's own help.\n.TH SURROGATE 1 \"\" \"surrogate " +
        std::string(surrogate_version()) + "\" \"User Commands\"\n.SH NAME\n" +
        "surrogate \\- models of learned attention surrogates\n.SH SYNOPSIS\n";
    for (const CLI::App* verb : verbs_of(app)) text += ".B " + troff(usage_of(*verb)) + "\n.br\n";
    text +=
        ".SH DESCRIPTION\n" + troff(app.get_description()) + "\n" + man_footer(app.get_footer());
    for (const CLI::App* verb : verbs_of(app)) {
        text += ".SH " + troff(verb->get_name()) + "\n.B " + troff(usage_of(*verb)) + "\n.PP\n" +
                troff(verb->get_description()) + ".\n";
        for (const CLI::Option* option : verb->get_options()) text += man_option(*option);
        text += man_footer(verb->get_footer());
    }
    return text;
}

// ---- bash ----

/// Returns the words in single quotes. No name or word of the commands contains one.
std::string words_of(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return "'" + text + "'";
}

std::string bash_completion(const CLI::App& app) {
    std::vector<std::string> verbs = {"help"};
    std::string options, values;
    for (const CLI::App* verb : verbs_of(app)) {
        verbs.push_back(verb->get_name());
        std::vector<std::string> names;
        for (const CLI::Option* option : verb->get_options()) {
            if (is_positional(*option)) continue;
            names.push_back(long_name(*option));
            if (!has_value(*option)) continue;
            const std::string at = "        " + verb->get_name() + "\\ " + names.back() + ") ";
            const auto choices = choices_of(*option);
            std::vector<std::string> words = choices;
            const bool takes_files = std::erase(words, "FILE") > 0;
            if (!choices.empty())
                values +=
                    at + (takes_files ? "files=yes " : "") + "words=" + words_of(words) + " ;;\n";
            else if (option->get_type_name() == "FILE")
                values += at + "words=FILE ;;\n";
            else
                values += at + "return ;;\n";
        }
        options += "        " + verb->get_name() + ") words=" + words_of(names) + " ;;\n";
    }
    return "# Completion of the program surrogate for bash, made from its own help.\n"
           "_surrogate() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local verb=${COMP_WORDS[1]} words=FILE files=\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ] || { [ \"$COMP_CWORD\" -eq 2 ] && [ \"$verb\" = help "
           "]; }; then\n"
           "        COMPREPLY=($(compgen -W " +
           words_of(verbs) +
           " -- \"$word\"))\n"
           "        return\n"
           "    fi\n"
           "    case $verb\\ $before in\n" +
           values +
           "        *)\n"
           "            case $word in\n"
           "                -*) case $verb in\n" +
           options +
           "                    esac ;;\n"
           "            esac ;;\n"
           "    esac\n"
           "    if [ \"$words\" = FILE ]; then\n"
           "        compopt -o filenames 2>/dev/null\n"
           "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
           "    else\n"
           "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "    fi\n"
           "    if [ -n \"$files\" ]; then\n"
           "        compopt -o filenames 2>/dev/null\n"
           "        COMPREPLY+=($(compgen -f -- \"$word\"))\n"
           "    fi\n"
           "}\n"
           "complete -F _surrogate surrogate\n";
}

}  // namespace

int main(int argc, char** argv) {
    open_output();
    Arguments arguments;
    const auto app = make_commands(arguments);
    const std::string kind = argc == 2 ? argv[1] : "";
    if (kind != "man" && kind != "bash") {
        print_error("surrogate_manual man|bash");
        return 2;
    }
    print(kind == "man" ? man_page(*app) : bash_completion(*app));
    const std::string lost = finish_output();
    if (!lost.empty()) print_error("surrogate_manual: " + lost);
    return lost.empty() ? 0 : 2;
}
