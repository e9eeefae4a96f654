// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/domain/array_axes.hpp"
#include "libsurrogate/src/model/model.hpp"
#include "libsurrogate/src/plan/coordinates.hpp"
#include "libsurrogate/src/plan/execution.hpp"

namespace surrogate::impl {

/// A model on a domain, ready to run; see surrogate_plan_create and the functions after it.
class Plan {
public:
    /// Makes the plan of surrogate_plan_create(). Collective; local failures are agreed on.
    Plan(std::shared_ptr<const Model> model, std::shared_ptr<Domain> input,
         std::shared_ptr<Domain> output, const Options& options);

    void bind_input(const char* name, const char* unit, const surrogate_array* array);
    void bind_output(const char* name, const char* unit, const surrogate_array* array);
    void bind_input(const char* name, const char* unit, const surrogate_block* block);
    void bind_output(const char* name, const char* unit, const surrogate_block* block);
    void unbind();

    // Derivatives of predictions (derivatives.cpp); see surrogate_plan_run_backward.
    void bind_output_gradient(const char* name, const char* unit, const surrogate_array* w);
    void bind_input_gradient(const char* name, const char* unit, const surrogate_array* g);
    void bind_output_gradient(const char* name, const char* unit, const surrogate_block* w);
    void bind_input_gradient(const char* name, const char* unit, const surrogate_block* g);
    /// Implements surrogate_plan_run_backward(). Collective; throws as run().
    void run_backward();

    // Directional derivatives (tangents.cpp); see surrogate_plan_run_tangent.
    void bind_input_tangent(const char* name, const char* unit, const surrogate_array* v);
    void bind_output_tangent(const char* name, const char* unit, const surrogate_array* jv);
    void bind_input_tangent(const char* name, const char* unit, const surrogate_block* v);
    void bind_output_tangent(const char* name, const char* unit, const surrogate_block* jv);
    /// Implements surrogate_plan_run_tangent(). Allocates in the first call, and in the first after
    /// points have moved. Collective; throws as run().
    void run_tangent();

    // Called by all ranks; throw after all exchanges are done: this rank's own error, or with
    // agree=true the error of the first failed rank. If points have moved since the last run, ranks
    // first agree that the plan can be updated; if it cannot, nothing runs, and the next run tries
    // again.
    void run();
    void run_failed(Status status, const char* text);
    void run_network(std::span<const surrogate_named_array> inputs,
                     std::span<const surrogate_named_array> outputs);

    // ---- for who trains (training.cpp); nothing here agrees but follow_if_behind()

    /// The columns of an output, or of the components of a vector, and which they are; checked as
    /// in bind_output(). Local.
    struct Target {
        size_t output = 0;
        Column column;
    };
    std::vector<Target> targets_of(const char* name, const char* unit,
                                   const surrogate_array* array) const;
    Target target_of(const char* name, const char* unit, const surrogate_block* block) const;
    /// Throws not_supported unless all outputs are fields at points, or rows of clouds;
    /// invalid_argument unless the plan was made with gradients. Local.
    void require_trainable() const;
    /// Throws as run() does for inputs that are not bound. Local.
    void require_inputs() const;
    /// Returns the columns of the card's fields. An output that is not bound has no data.
    std::span<const Column> inputs() const { return inputs_; }
    Column bound_output(size_t output) const;
    NumberKind input_kind(size_t input) const { return input_slots_[input].kind; }
    PortPlace input_place(size_t input) const { return input_slots_[input].place; }
    /// Returns the rows of the column of an input: numbers per cloud are read at the points.
    int64_t n_input_row(size_t input) const {
        return is_per_cloud(input) ? input_->n_local() : n_row(input_slots_[input].place);
    }
    /// Returns a row of the column of an input as text, for messages.
    std::string input_row_text(size_t input, int64_t row) const;
    /// Compares the numbers per cloud of all ranks, for require_same_numbers(). Collective, without
    /// agreement; one reduction if the model has such inputs.
    void compare_numbers();
    /// Throws EchoedError(invalid_argument) on all ranks if these numbers differed. Local.
    void require_same_numbers() const;
    /// Returns true if outputs have a row for each cloud of the input domain, on every rank.
    bool has_pooled_outputs() const { return output_slots_.front().place == PortPlace::clouds; }
    /// Returns the rows of an array of each output, on this rank and over all ranks.
    int64_t n_output_row() const {
        return has_pooled_outputs() ? input_->n_cloud() : output_->n_local();
    }
    int64_t n_output_global() const {
        return has_pooled_outputs() ? input_->n_cloud() : output_->n_global();
    }
    /// Returns a row of an output as text, for messages.
    std::string output_row_text(int64_t row) const {
        return row_text(has_pooled_outputs() ? PortPlace::clouds : PortPlace::output_points, row);
    }
    const kernels::Queue& queue() const { return queue_; }
    /// Updates the plan if points have moved since the last run, and takes the card's present
    /// ranges. Collective, with agreement.
    void follow_if_behind() {
        if (is_behind()) follow();
        follow_ranges();
    }
    /// Runs the network on the caller's columns. draw: the sample whose masks of dropout the run
    /// and its backward() apply, or none. problem: the reason why this rank cannot take part, or
    /// null; afterwards also the error of its inputs. Collective, without agreement.
    Execution::Result forward(std::span<const Column> inputs, std::span<const Column> outputs,
                              std::optional<DropoutDraw> draw, std::exception_ptr& problem);
    /// Returns GradientProgram::weight_stages(), for backward().
    std::vector<int> weight_stages() const;
    bool backward(std::span<const Column> doutputs, bool alive, GradientSums& sums);
    /// Returns the traffic of the context's ranks so far, including its device's transport.
    Execution::Traffic traffic() const;

    /// Implements surrogate_plan_set_stream() and surrogate_plan_wait(). Local.
    void set_stream(kernels::Stream stream);
    void wait();

    /// Implements surrogate_plan_range(). Local.
    surrogate_range_info range(int32_t input) const;

    const std::string& option(const char* key) const;
    int64_t counter(const char* key) const;
    std::string describe() const;
    Context& context() const { return model_->context(); }
    const std::shared_ptr<const Model>& model() const { return model_; }
    const std::shared_ptr<Domain>& input() const { return input_; }
    const std::shared_ptr<Domain>& output() const { return output_; }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

private:
    /// A field of the card, or one channel of a network port.
    struct Slot {
        std::string name;
        std::string unit;
        bool from_domain = false;
        PortPlace place = PortPlace::input_points;
        NumberKind kind = NumberKind::real;
        bool is_optional = false;
        bool is_bound = false;
        int64_t n_row = 0;  ///< of what is bound
    };

    /// The domains that a plan is made for.
    struct Revisions {
        int64_t input = 0, output = 0;
        bool operator==(const Revisions&) const = default;
    };

    struct NamedPort {
        Port port;
        std::string text;  // "network input 'x'", made here because a run allocates nothing
    };

    /// Option gradients=inputs: gradients by outputs and inputs of the card, and their memory.
    struct Derivatives {
        struct Bound {
            Column column;
            int64_t n_row = -1;  ///< none is bound
        };
        std::vector<Bound> outputs, inputs;
        std::vector<Column> doutputs, dinputs;  // of the network, for GradientProgram::backward
        kernels::Buffer<double> by_point;       // (numbers per cloud, point): before they are added
        kernels::Buffer<double> bounds;         // (numbers per cloud) on sizes of terms
        kernels::Buffer<int64_t> sums;          // (numbers per cloud, cloud, 2) on an ExactGrid
        std::optional<GradientSums> weights;    // left out, or forgotten
        bool waits = false;                     ///< run() was called since the last backward run
        bool is_good = false;                   ///< and succeeded on this rank

        int64_t bytes() const {
            return by_point.bytes() + bounds.bytes() + sums.bytes() +
                   (weights ? weights->bytes() : 0);
        }
    };

    /// Directions by inputs, derivatives of outputs along them, and a plan that evaluates the
    /// network at both sides of the bound inputs.
    struct Tangents {
        /// Numbers of a field, laid out as an array of the domain.
        struct Values {
            kernels::Buffer<double> memory;
            Column column;
        };
        std::vector<Derivatives::Bound> inputs, outputs;
        std::vector<Values> at, result, sum;  // of the plan, and of its runs
        std::vector<int64_t> rows;            // of their arrays, inputs first; -1: not bound
        std::unique_ptr<Plan> plan;

        int64_t bytes() const;
    };

    void set_states();
    void set_derivatives();
    void bind_tangent(const char* name, const char* unit, const surrogate_array* array,
                      bool is_input);
    void bind_tangent(const char* name, const char* unit, const surrogate_block* block,
                      bool is_input);
    void require_tangents() const;
    void require_tangent_by(std::span<const size_t> inputs) const;
    void make_tangent_plan();
    int64_t n_given_row(size_t input) const;
    surrogate_array sized(Tangents::Values& values, PortPlace place, int64_t n_row) const;
    void connect_tangents();
    double largest_direction() const;
    void move_inputs(double step);
    void add_result(double weight, bool is_first);
    void write_tangents(double step, bool is_good);
    void differentiate();
    template <class Body>
    void for_rows(PortPlace place, int64_t n_row, const Body& body) const;
    void resize_derivatives();
    void add_weight_sums();
    void require_derivatives() const;
    void require_differentiable(std::span<const size_t> inputs) const;
    void bind_gradient(const char* name, const char* unit, const surrogate_array* array,
                       bool is_input);
    void bind_gradient(const char* name, const char* unit, const surrogate_block* block,
                       bool is_input);
    void require_gradient_rows() const;
    void require_gradient_row(const Derivatives::Bound& bound, const Slot& slot, bool is_input,
                              const char* what) const;
    void require_finite(std::span<const Derivatives::Bound> bound, bool is_input,
                        const char* what) const;
    void set_gradient_columns(bool has_rows);
    bool add_numbers(bool is_finite);
    void write_numbers(bool is_finite);
    void go_back();
    void set_fields();
    void set_slots();
    void set_coordinates();
    void set_positions();
    void add_execution();
    Revisions revisions() const { return {input_->revision(), output_->revision()}; }
    bool is_behind() const { return followed_ != revisions(); }
    void follow();
    void follow_ranges();
    void finish_earlier_runs();
    std::vector<size_t> find_slots(const char* name, bool is_input,
                                   bool takes_coordinates = false) const;
    [[noreturn]] void refuse_name(const char* name, bool is_input, bool takes_coordinates) const;
    void require_unit(std::span<const size_t> found, const char* unit, bool is_input) const;
    void bind(const char* name, const char* unit, const surrogate_array* array, bool is_input);
    void bind(const char* name, const char* unit, const surrogate_block* block, bool is_input);
    std::vector<size_t> checked_slots(const char* name, const char* unit,
                                      const surrogate_array* array, bool is_input,
                                      bool takes_coordinates = false) const;
    size_t checked_slot(const char* name, const char* unit, const surrogate_block* block,
                        bool is_input, bool takes_coordinates = false) const;
    void require_ranges() const;
    void require_rows(const std::string& what, std::span<const size_t> found,
                      const surrogate_array& array, bool is_input) const;
    void set_column(size_t slot, const Column& memory, int64_t n_row, bool is_input);
    void set_rows(size_t input);
    bool is_per_cloud(size_t input) const { return fields_[input].is_cloud; }
    std::string field_text(const char* name, std::span<const size_t> found, bool is_input) const;
    const std::vector<Slot>& slots(bool is_input) const {
        return is_input ? input_slots_ : output_slots_;
    }
    void require_bound() const;
    void require_bound(const Slot& slot, bool is_input) const;
    const Domain& domain_of(PortPlace place) const;
    int64_t n_row(PortPlace place) const;
    ArrayAxes axes_at(PortPlace place, const surrogate_array& array) const;
    std::string row_text(PortPlace place, int64_t row) const;
    void set_port_columns(std::span<const surrogate_named_array> given, bool is_input);
    template <class Work>
    void agreed(const Work& work);
    template <class Check>
    void execute(const Check& check, std::span<const Column> inputs,
                 std::span<const Column> outputs);
    void evaluate(std::span<const Column> inputs, std::span<const Column> outputs,
                  std::exception_ptr problem);
    Execution::Result run_states(int64_t run, std::span<const Column> inputs,
                                 std::span<const Column> outputs, bool poisoned);
    void set_state(int64_t state, std::span<const Column> columns, bool is_input);
    void require_good(const Execution::Result& result, bool by_port,
                      const std::string& prefix) const;
    void require_good(const Execution::Late& late) const;
    void require_in_range(int input, const Outside& outside, const std::string& prefix) const;
    std::string outside_text(int input, const Outside& outside) const;
    std::string cloud_outside_text(size_t input) const;
    void note_outside();
    int64_t n_outside() const;
    std::string ranges_text() const;
    std::string bad_value_text(const BadValue& bad, bool is_input, bool by_port) const;

    std::shared_ptr<const Model> model_;
    std::shared_ptr<Domain> input_, output_;
    Options options_;  // in force, "auto" resolved
    kernels::Queue queue_;
    std::unique_ptr<Derivatives> derivatives_;
    std::unique_ptr<Tangents> tangents_;     // with derivatives_
    std::unique_ptr<Execution> execution_;   // null: no memory for it when the points moved
    Revisions followed_;                     // of the domains, by the execution
    int64_t ranges_revision_ = 0;            // of the model's card, by the columns
    std::optional<kernels::Stream> stream_;  // of the caller's
    std::exception_ptr found_before_move_;   // by runs that were only enqueued
    std::vector<FieldCard> fields_;          // inputs of the card, as option coordinates asks
    std::vector<Slot> input_slots_, output_slots_;    // the same, and outputs
    std::vector<Column> inputs_, outputs_;            // what they are bound to
    std::vector<Column> positions_;                   // of the port of coordinates, if there is one
    std::vector<Column> port_inputs_, port_outputs_;  // of run_network, channel by channel
    std::vector<NamedPort> input_ports_, output_ports_;
    DeviceContext* device_ = nullptr;  // backend cuda
    int64_t n_state_ = 1;              // option states
    int64_t bad_state_ = 0;            // of the last run, the first that is not good
    std::vector<Column> state_inputs_, state_outputs_;  // of the state that is run
    std::vector<Outside> state_outside_;                // of all states of the last run
    bool agrees_ = false;                               // option agree
    bool stops_at_range_ = false, warns_ = false;       // option range
    Coordinates coordinates_;
    int64_t n_input_point_ = 0;     // of this rank, when coordinates were counted
    std::vector<Outside> outside_;  // (inputs) coordinates: of the domain; fields: of the last run
    std::vector<bool> is_warned_;   // (inputs)
    /// (2 * numbers per cloud) hash and its complement, then the largest of all ranks.
    std::vector<int64_t> number_marks_;
    bool by_port_ = false;                             // the current run is run_network
    std::bitset<Execution::max_pending> was_by_port_;  // the same of runs enqueued, by their number
    int64_t bytes_sent_ = 0, n_collective_ = 0, n_run_ = 0;
};

}  // namespace surrogate::impl
