// SPDX-License-Identifier: Apache-2.0
#include "tests/libsurrogate/conformance/family_run.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

namespace surrogate::test {

namespace {

Domain make_domain(const Context& context, const Share& share) {
    surrogate_domain* domain = nullptr;
    check(share.create(context.get(), &domain));
    return Domain(domain);
}

Share share_of_rank(const Context& context, const Tested& tested, const std::string& partition,
                    const surrogate_domain_info& domain) {
    return tested.family->share(domain, tested.network->n_point, partition, context.rank(),
                                context.size());
}

std::vector<double> rows(const std::vector<const PointArray*>& arrays, int64_t n) {
    std::vector<double> list;
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        for (const PointArray* array : arrays)
            for (int64_t c = 0; c < array->n_channel(); ++c) list.push_back(array->get(i, c));
    }
    return list;
}

double wave_of(int64_t point, double phase) {
    return std::sin(1.3 * static_cast<double>(point) + phase);
}
double exact(double value) {
    return static_cast<double>(static_cast<float>(value));
}

/// Coordinates come from the domain.
std::vector<surrogate_port_info> given_ports(const Model& model) {
    std::vector<surrogate_port_info> ports = model.ports();
    std::erase_if(ports, [](const auto& port) { return port.location == SURROGATE_COORDINATES; });
    return ports;
}

/// `n` rows, all on this rank.
Share whole_share(int64_t n) {
    Share share{.n_place = n};
    for (int64_t i = 0; i < n; ++i) share.points.push_back(i);
    share.places = share.points;
    return share;
}

}  // namespace

FamilyDomains::FamilyDomains(const Context& context, const Model& model, const Tested& tested,
                             const std::string& partition)
    : in(share_of_rank(context, tested, partition, model.input_domain())),
      out(share_of_rank(context, tested, partition, model.output_domain())),
      input(make_domain(context, in)),
      output_(make_domain(context, out)),
      has_output_(tested.family->has_output_domain) {}

Plan FamilyDomains::plan(const Model& model, const Options& options) const {
    return has_output_ ? Plan(model, input, output_, options) : Plan(model, input, options);
}

FamilyRun::FamilyRun(const Context& context, const Model& model, const Tested& tested,
                     const std::string& partition, const Options& options, const Format& format)
    : domains(context, model, tested, partition),
      plan(domains.plan(model, options)),
      ports(given_ports(model)),
      input_fields(domains.in, 0, format),
      output_fields(domains.out, 0, format) {
    for (const surrogate_port_info& port : ports) {
        if (port.location != SURROGATE_ON_CLOUDS && port.location != SURROGATE_ON_NODES) continue;
        has_rows_ = true;
        rows_ = whole_share(port.location == SURROGATE_ON_CLOUDS ? 1 : plan.counter("nodes"));
    }
    for (size_t p = 0; p < ports.size(); ++p) {
        Format own = format;
        own.is_integer = ports[p].kind == SURROGATE_INTEGER;
        port_arrays.emplace_back(share_of(p), ports[p].n_channel, own);
    }
    for (const surrogate_field_info& field : model.inputs()) {
        if (field.role == SURROGATE_COORDINATE) continue;
        inputs.push_back(field.name);
        scales_.emplace_back(field.mean, field.std);
    }
    for (const surrogate_field_info& field : model.outputs()) outputs.push_back(field.name);
    input_fields = {domains.in, std::ssize(inputs), format};
    output_fields = {out(), std::ssize(outputs), format};
    fill();
    bind();
}

const Share& FamilyRun::share_of(size_t port) const {
    if (ports[port].is_output) return out();
    return ports[port].location == SURROGATE_ON_OUTPUT ? domains.out : domains.in;
}

double FamilyRun::input_value(size_t port, size_t point, int64_t channel) const {
    if (ports[port].kind == SURROGATE_INTEGER)
        return static_cast<double>(share_of(port).points[point] * 7 % 11);
    const double phase = 0.6 + 0.5 * static_cast<double>(port) + 2.1 * static_cast<double>(channel);
    return exact(wave_of(share_of(port).points[point], phase));
}

double FamilyRun::field_value(size_t field, size_t point) const {
    const auto& [mean, width] = scales_[field];
    const double phase = 0.2 + 1.7 * static_cast<double>(field);
    return exact(mean + width * wave_of(domains.in.points[point], phase));
}

void FamilyRun::fill() {
    for (size_t p = 0; p < ports.size(); ++p) {
        if (ports[p].is_output) continue;
        for (size_t i = 0; i < share_of(p).points.size(); ++i)
            for (int64_t c = 0; c < ports[p].n_channel; ++c)
                port_arrays[p].set(i, c, input_value(p, i, c));
    }
    for (size_t f = 0; f < inputs.size(); ++f) {
        for (size_t i = 0; i < domains.in.points.size(); ++i)
            input_fields.set(i, static_cast<int64_t>(f), field_value(f, i));
    }
}

bool FamilyRun::is_memory_intact() const {
    bool is_intact = input_fields.has_clean_gaps() && output_fields.has_clean_gaps();
    for (size_t p = 0; p < ports.size(); ++p) {
        is_intact = is_intact && port_arrays[p].has_clean_gaps();
        if (ports[p].is_output) continue;
        for (size_t i = 0; i < share_of(p).points.size(); ++i)
            for (int64_t c = 0; c < ports[p].n_channel; ++c)
                is_intact = is_intact && port_arrays[p].get(i, c) == input_value(p, i, c);
    }
    for (size_t f = 0; f < inputs.size(); ++f) {
        for (size_t i = 0; i < domains.in.points.size(); ++i)
            is_intact =
                is_intact && input_fields.get(i, static_cast<int64_t>(f)) == field_value(f, i);
    }
    return is_intact;
}

void FamilyRun::bind() {
    for (size_t f = 0; f < inputs.size(); ++f)
        plan.bind_input(inputs[f], input_fields.channel(static_cast<int64_t>(f)));
    for (size_t f = 0; f < outputs.size(); ++f)
        plan.bind_output(outputs[f], output_fields.channel(static_cast<int64_t>(f)));
}

std::vector<surrogate_named_array> FamilyRun::arrays(bool are_outputs) {
    std::vector<surrogate_named_array> list;
    for (size_t p = 0; p < ports.size(); ++p)
        if ((ports[p].is_output != 0) == are_outputs)
            list.push_back({ports[p].name, port_arrays[p].all()});
    return list;
}

surrogate_status FamilyRun::run_network() {
    const auto in = arrays(false), out = arrays(true);
    return surrogate_plan_run_network(plan.get(), static_cast<int32_t>(in.size()), in.data(),
                                      static_cast<int32_t>(out.size()), out.data());
}

surrogate_status FamilyRun::run_all() {
    const surrogate_status network = run_network();
    const surrogate_status fields = has_fields() ? run() : SURROGATE_SUCCESS;
    return network == SURROGATE_SUCCESS ? fields : network;
}

std::vector<double> FamilyRun::network_results() const {
    std::vector<const PointArray*> list;
    for (size_t p = 0; p < ports.size(); ++p)
        if (ports[p].is_output) list.push_back(&port_arrays[p]);
    return rows(list, out().n());
}

std::vector<double> FamilyRun::field_results() const {
    return rows({&output_fields}, out().n());
}

std::vector<double> FamilyRun::results() const {
    std::vector<const PointArray*> list;
    for (size_t p = 0; p < ports.size(); ++p)
        if (ports[p].is_output) list.push_back(&port_arrays[p]);
    list.push_back(&output_fields);
    return rows(list, out().n());
}

int64_t FamilyRun::n_column() const {
    int64_t n = output_fields.n_channel();
    for (const surrogate_port_info& port : ports) n += port.is_output ? port.n_channel : 0;
    return n;
}

void FamilyRun::forget_results() {
    for (size_t p = 0; p < ports.size(); ++p)
        if (ports[p].is_output) port_arrays[p].set_all(NAN);
    output_fields.set_all(NAN);
}

std::vector<double> Whole::of(const Share& share) const {
    std::vector<double> own;
    const int64_t n_column = std::ssize(scale);
    for (const int64_t point : share.points) {
        const auto row = values.begin() + point * n_column;
        own.insert(own.end(), row, row + n_column);
    }
    return own;
}

Share Whole::all() const {
    return whole_share(scale.empty() ? 0 : std::ssize(values) / std::ssize(scale));
}

double Whole::difference(const std::vector<double>& found, const Share& share) const {
    const std::vector<double> expected = of(share);
    if (found.size() != expected.size()) return INFINITY;
    double largest = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        if (std::isnan(found[i] - expected[i])) return NAN;
        largest = std::max(largest, std::abs(found[i] - expected[i]) / scale[i % scale.size()]);
    }
    return largest;
}

Whole computed_alone(const std::string& path, const Tested& tested, const Options& options) {
    return computed_in(Context(), path, tested, options);
}

Whole computed_in(const Context& self, const std::string& path, const Tested& tested,
                  const Options& options) {
    const Model model(self, path);
    FamilyRun run(self, model, tested, "contiguous", options);
    check(run.run_all());
    const std::vector<double> own = run.results();
    Whole whole{std::vector<double>(own.size()),
                std::vector<double>(static_cast<size_t>(run.n_column()))};
    for (size_t i = 0; i < own.size(); ++i) {
        const size_t n = whole.scale.size(), column = i % n;
        const auto point = static_cast<size_t>(run.out().points[i / n]);
        whole.values[point * n + column] = own[i];
        whole.scale[column] = std::max(whole.scale[column], std::abs(own[i]));
    }
    return whole;
}

std::string trace(const std::string& mode, const std::string& partition) {
    return "mode " + mode + ", partition " + partition;
}

bool all_nan(const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isnan(value); });
}
bool all_finite(const std::vector<double>& values) {
    return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace surrogate::test
