// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/class_output.hpp"

#include <set>

#include "coupling/job/classes.hpp"
#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"

namespace surrogate::tool {

namespace {

constexpr const char* class_array = "class";

std::string logit_array(const std::string& name) {
    return name + "_logit";
}

}  // namespace

void check_class_output(const OutputPlaces& places,
                        const std::vector<std::pair<std::string, std::string>>& maps,
                        bool has_logits) {
    const bool is_classifier = are_classes(places.at_points) || are_classes(places.of_all);
    if (has_logits && !is_classifier)
        fail("--logits is for classifiers, and the outputs of the model are fields");
    if (!is_classifier) return;
    if (!places.at_points.empty() && !places.of_all.empty())
        fail(std::string("class '") + places.at_points.front().name + "' is at points and class '" +
             places.of_all.front().name + "' is one number for all points, expected one of both");
    std::set<std::string> names = {class_array};
    const auto add = [&](const surrogate_field_info& output, const std::string& name) {
        if (names.insert(name).second) return;
        fail("two arrays of the output would have the name '" + one_line(name, 60) + "'; --map '" +
             one_line(output.name, 60) + "=ARRAY' gives the probabilities of a class another name");
    };
    for (const surrogate_field_info& output : places.at_points) {
        std::string name = output.name;
        for (const auto& [field, array] : maps)
            if (field == output.name) name = array;
        add(output, name);
        if (has_logits) add(output, logit_array(name));
    }
}

ClassOutput class_output(const FieldPlan& plan, const std::vector<std::vector<double>>& logits,
                         bool has_logits) {
    const size_t n_output = logits.size(), n_point = logits.front().size();
    const size_t first = n_class_of(n_output) - n_output;  // class of the first output
    ClassOutput output;
    output.counts.resize(n_class_of(n_output));
    output.arrays.push_back(real_array(class_array, false, "", std::vector<double>(n_point)));
    output.arrays[0].info.type = "Int32";
    for (size_t o = 0; o < n_output; ++o)
        output.arrays.push_back(
            real_array(plan.outputs[o].second, plan.is_float, "", std::vector<double>(n_point)));
    std::vector<double> point(n_output), probabilities(output.counts.size());
    for (size_t i = 0; i < n_point; ++i) {
        for (size_t o = 0; o < n_output; ++o) point[o] = logits[o][i];
        const size_t predicted = classify(point, probabilities);
        output.counts[predicted] += 1;
        output.arrays[0].values[i] = static_cast<double>(predicted);
        for (size_t o = 0; o < n_output; ++o)
            output.arrays[1 + o].values[i] = probabilities[first + o];
    }
    if (!has_logits) return output;
    for (size_t o = 0; o < n_output; ++o)
        output.arrays.push_back(
            real_array(logit_array(plan.outputs[o].second), plan.is_float, "", logits[o]));
    return output;
}

std::vector<std::string> class_lines(const std::vector<surrogate_field_info>& outputs,
                                     const std::vector<double>& logits, bool has_logits) {
    const std::vector<std::string> names = class_names(outputs);
    std::vector<double> probabilities(names.size());
    const size_t predicted = classify(logits, probabilities);
    std::vector<std::string> lines = {std::string(class_array) + " = " +
                                      one_line(names[predicted])};
    for (size_t o = 0; o < outputs.size(); ++o) {
        const double p = probabilities[names.size() - outputs.size() + o];
        lines.push_back(one_line(outputs[o].name) + " = " + number(p));
        if (has_logits)
            lines.push_back(one_line(logit_array(outputs[o].name)) + " = " + number(logits[o]));
    }
    return lines;
}

std::string counts_of_classes(const std::vector<surrogate_field_info>& outputs,
                              const std::vector<int64_t>& counts) {
    const std::vector<std::string> names = class_names(outputs);
    std::string text;
    for (size_t c = 0; c < names.size(); ++c)
        text += (c > 0 ? ", " : "") + one_line(names[c], 60) + " " + grouped(counts[c]);
    return text;
}

}  // namespace surrogate::tool
