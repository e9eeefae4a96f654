// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/layer_costs.hpp"

#include <sstream>

namespace surrogate::tool {

namespace {

const std::string total = "total of this rank";

/// Parses "blocks.0 k, v, encode   12.3  4.5  1024  2  0": five numbers behind a name with blanks.
bool parse_line(const std::string& line, LayerWork& work) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.size() < 6) return false;
    double numbers[5];
    for (size_t i = 0; i < 5; ++i) {
        const std::string& word = words[words.size() - 5 + i];
        size_t n = 0;
        try {
            numbers[i] = std::stod(word, &n);
        } catch (const std::exception&) {
            return false;
        }
        if (n != word.size()) return false;
    }
    work = {"", numbers[0] * 1e6, numbers[1] * 1e6, numbers[2], numbers[3], numbers[4]};
    for (size_t i = 0; i + 5 < words.size(); ++i) work.name += (i == 0 ? "" : " ") + words[i];
    return true;
}

}  // namespace

std::vector<LayerWork> parse_layers(const std::string& text) {
    std::vector<LayerWork> layers;
    std::istringstream in(text);
    bool is_table = false;
    for (std::string line; std::getline(in, line);) {
        LayerWork work;
        if (!is_table) {
            is_table = line.starts_with("layer ");  // the head; "layer 0" may be the name of a row
        } else if (parse_line(line, work)) {
            if (work.name == total) break;
            layers.push_back(work);
        }
    }
    return layers;
}

std::vector<LayerWork> work_of_layers(const Job& job, const Plan& plan) {
    std::vector<LayerWork> layers;
    job.agree([&] { layers = parse_layers(plan.describe()); });
    if (job.max(std::ssize(layers)) != -job.max(-std::ssize(layers))) return {};
    for (LayerWork& layer : layers) {
        for (double* value : {&layer.flops, &layer.exponentials, &layer.bytes, &layer.messages})
            *value = static_cast<double>(job.sum(static_cast<int64_t>(*value)));
        layer.collectives = job.max(layer.collectives);
    }
    return layers;
}

}  // namespace surrogate::tool
