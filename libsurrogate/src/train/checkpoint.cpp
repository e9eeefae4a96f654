// SPDX-License-Identifier: Apache-2.0
// Writes and reads the state of a trainer in a checkpoint.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/train/checkpoint_file.hpp"
#include "libsurrogate/src/train/trainer.hpp"

namespace surrogate::impl {

/// Counters, in the order of the tensor `counters`.
struct Trainer::Counters {
    int64_t step = 0, n_bad = 0;
    int64_t n_seen = 0, n_worse = 0, n_drop = 0;
    int64_t n_kept = 0, n_given = 0, n_drawn = 0;
    double best = 0;
    int64_t n_note = 0;  ///< bytes; the note itself stands in the description
};

/// Contents of a checkpoint before they are copied to the trainer.
struct Trainer::Restored {
    Counters counters;
    std::vector<kernels::Buffer<double>> arenas;  // as state() lists them
    std::vector<Reservoir::Slot> slots;
    std::vector<FieldRange> ranges, seen;   // of the card; of all steps (n_input + n_output)
    std::optional<ModelCard::Texts> texts;  // with the former; none: the card has them
    std::string note;
};

/// The columns of a sample of the reservoir, between ranks.
struct Trainer::KeptExchange {
    explicit KeptExchange(const Trainer& trainer)
        : inputs(trainer.data_parallel(), trainer.shared_, trainer.group_, *trainer.plan_.input(),
                 trainer.n_kept_input()),
          targets(trainer.data_parallel(), trainer.shared_, trainer.group_, *trainer.plan_.output(),
                  std::ssize(trainer.targets_)) {}
    void connect() {
        inputs.connect();
        targets.connect();
    }
    SampleGather inputs, targets;
};

namespace {

constexpr int64_t n_counter = 10;

TensorEntry entry_of(const std::string& name, DType dtype, std::vector<int64_t> shape) {
    return {name, dtype, std::move(shape)};
}

/// Ranges observed in all steps: least and greatest value of each field. Older checkpoints have
/// none.
TensorEntry ranges_entry(size_t n_field) {
    static_assert(sizeof(FieldRange) == 2 * sizeof(double));
    return entry_of("ranges", DType::float64, {static_cast<int64_t>(n_field), 2});
}

std::string kept_name(int64_t group, int64_t slot, const char* what) {
    return "kept/" + std::to_string(group) + "/" + std::to_string(slot) + "/" + what;
}

/// Throws invalid_argument if JSON cannot hold the note.
void set_note(const char* note, nlohmann::json& about) {
    constexpr size_t longest = size_t{1} << 19;
    const std::string text = note ? note : "";
    if (text.size() > longest) {
        throw Error(Status::invalid_argument, "the note has " + std::to_string(text.size()) +
                                                  " bytes; a checkpoint takes up to " +
                                                  std::to_string(longest));
    }
    about["note"] = text;
    try {
        dump_json(about.at("note"));
    } catch (const nlohmann::json::type_error&) {
        throw Error(Status::invalid_argument, "the note is not UTF-8");
    }
}

/// Keeps the parts of a card that are the same in all of a training. `model` may be any JSON.
void keep_same(nlohmann::json& model) {
    if (!model.is_object()) return;
    for (const char* key : {"checksums", "provenance"}) model.erase(key);
    for (const char* key : {"inputs", "outputs"}) {
        if (!model.contains(key) || !model.at(key).is_array()) continue;
        for (nlohmann::json& field : model.at(key)) {
            if (!field.is_object() || field.contains("axis")) continue;
            field.erase("min");
            field.erase("max");
        }
    }
}

/// Adds what differs between two values of the same place, as lines.
void list_differences(const nlohmann::json& theirs, const nlohmann::json& ours,
                      const std::string& place, std::vector<std::string>& list) {
    if (theirs == ours) return;
    if (theirs.is_array() && ours.is_array() && theirs.size() == ours.size()) {
        for (size_t i = 0; i < ours.size(); ++i)
            list_differences(theirs[i], ours[i], place + "[" + std::to_string(i) + "]", list);
        return;
    }
    if (!theirs.is_object() || !ours.is_object()) {
        list.push_back(place + " is " + found_text(theirs) + " in the checkpoint, " +
                       found_text(ours) + " here");
        return;
    }
    const std::string prefix = place.empty() ? "" : place + ".";
    const auto shown = [&](const std::string& key) {
        const std::string_view name =
            place == "settings" ? TrainingSettings::present_key(key) : std::string_view(key);
        return prefix + printable(name);
    };
    for (const auto& [key, value] : theirs.items()) {
        if (ours.contains(key)) {
            list_differences(value, ours.at(key), shown(key), list);
        } else {
            list.push_back(shown(key) + " is only in the checkpoint");
        }
    }
    for (const auto& [key, value] : ours.items()) {
        if (!theirs.contains(key)) list.push_back(shown(key) + " is only here");
    }
}

}  // namespace

/// The arenas of a checkpoint, which one rank writes and all read.
std::vector<std::pair<std::string, std::span<double>>> Trainer::state() {
    std::vector<std::pair<std::string, std::span<double>>> arenas = {
        {"weights", optimizer_->weights()}, {"moment1", optimizer_->first_moment()}};
    if (!optimizer_->second_moment().empty())
        arenas.emplace_back("moment2", optimizer_->second_moment());
    if (recipe_.ema_decay > 0) arenas.emplace_back("average", optimizer_->average());
    if (plateau_.n_seen > 0)
        arenas.emplace_back("best", std::span<double>(best_.begin(), best_.end()));
    return arenas;
}

/// Writes a checkpoint's description of its training.
void Trainer::describe_to(nlohmann::json& about) const {
    about = nlohmann::json::object();
    about["format"] = 1;
    nlohmann::json& settings = about["settings"] = nlohmann::json::object();
    for (const auto& [key, value] : settings_.stored()) {
        if (key != "bucket")
            settings[key] = value;  // affects how gradients are reduced, not their values
    }
    // Trainings that drop nothing are the same with any setting; version 0.1 never did.
    settings.erase("dropout");
    if (drops_) settings["dropout"] = "card";
    settings["precision"] = plan_.option("precision");
    settings["reproducible"] = plan_.option("reproducible");
    nlohmann::json& card = about["model"];
    card = parse_json(model_->card_text(), "card");
    erase_key(card, "checksums");
    erase_key(card, "provenance");
    nlohmann::json& sample = about["sample"] = nlohmann::json::object();
    if (recipe_.reservoir == 0) return;
    sample["groups"] = group_.n;
    sample["input_points"] = plan_.input()->n_global();
    sample["output_points"] = plan_.output()->n_global();
}

void Trainer::save(const char* note, const char* path) {
    JsonTree about;
    std::optional<KeptExchange> kept;
    std::vector<CheckpointTensor> tensors;
    int64_t counters[n_counter] = {};
    std::vector<FieldRange> seen;
    std::vector<double> ends;
    const int64_t n_kept = reservoir_.n_kept();
    std::string name;
    data_parallel().agree([&] {
        if (!path) throw Error(Status::invalid_argument, "path of the checkpoint is NULL");
        if (!losses_.empty()) {
            throw Error(Status::invalid_argument,
                        "samples were accumulated since the last step; save after "
                        "surrogate_trainer_apply");
        }
        name = path;
        describe_to(about.root());
        set_note(note, about.root());
        seen.assign(seen_.complete().begin(), seen_.complete().end());
        ends.resize(2 * seen.size());
    });
    join_ranges(seen, ends);
    if (n_kept > 0) {
        data_parallel().agree([&] { kept.emplace(*this); });
        kept->connect();
    }
    data_parallel().agree([&] { list_tensors(kept ? &*kept : nullptr, counters, seen, tensors); });
    const Counters own = this->counters();
    static_assert(sizeof own == sizeof counters);
    std::memcpy(counters, &own, sizeof own);
    write_checkpoint(data_parallel(), data_parallel_->files(), name, *about, tensors);
}

Trainer::Counters Trainer::counters() const {
    return {optimizer_->n_step(), n_bad_,
            plateau_.n_seen,      plateau_.n_worse,
            plateau_.n_drop,      reservoir_.n_kept(),
            reservoir_.n_given(), reservoir_.n_drawn(),
            plateau_.best,        0};
}

/// The tensors of a checkpoint in the order of the file.
void Trainer::list_tensors(KeptExchange* kept, const int64_t* counters,
                           std::span<const FieldRange> seen,
                           std::vector<CheckpointTensor>& tensors) {
    tensors.push_back({entry_of("counters", DType::int64, {n_counter}),
                       [counters] { return std::as_bytes(std::span(counters, n_counter)); }});
    tensors.push_back({ranges_entry(seen.size()), [seen] { return std::as_bytes(seen); }});
    for (const auto& [name, arena] : state()) {
        for (const MasterWeights::Entry& entry : model_->weights()->entries()) {
            const std::span<const double> own =
                arena.subspan(static_cast<size_t>(entry.first), static_cast<size_t>(entry.size));
            tensors.push_back({entry_of(name + "/" + entry.name, DType::float64, entry.shape),
                               [own] { return std::as_bytes(own); }});
        }
    }
    for (int64_t g = 0; kept && g < group_.n; ++g) {
        for (int64_t s = 0; s < reservoir_.n_kept(); ++s) {
            const double* const own =
                group_.index == g ? reservoir_.slot(s).numbers.data() : nullptr;
            const double* const targets =
                own ? own + n_kept_input() * plan_.input()->n_local() : nullptr;
            const auto add = [&](const char* what, SampleGather& side, const double* from,
                                 std::vector<int64_t> shape) {
                tensors.push_back(
                    {entry_of(kept_name(g, s, what), DType::float64, std::move(shape)),
                     [&side, g, from] { return std::as_bytes(side.gather(g, from)); }});
            };
            add("inputs", kept->inputs, own, {plan_.input()->n_global(), n_kept_input()});
            add("targets", kept->targets, targets,
                {plan_.output()->n_global(), std::ssize(targets_)});
        }
    }
}

/// On one rank: throws invalid_argument with a list unless the checkpoint is one of this training.
void Trainer::require_same_training(const CheckpointFile& file) const {
    JsonTree ours;
    describe_to(ours.root());
    JsonTree theirs{nlohmann::json(file.about())};
    erase_key(theirs.root(), "checksums");
    erase_key(theirs.root(), "note");
    keep_same(ours.root().at("model"));
    if (theirs->contains("model")) keep_same(theirs.root().at("model"));
    std::vector<std::string> list;
    list_differences(*theirs, *ours, "", list);
    if (list.empty()) return;
    std::string text = "the checkpoint is one of another training: ";
    for (size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : "; ") + list[i];
    throw Error(Status::invalid_argument, text);
}

void Trainer::restore(const char* path) {
    std::optional<CheckpointFile> file;  // on rank 0
    Restored restored;
    data_parallel().agree([&] {
        if (!path) throw Error(Status::invalid_argument, "path of the checkpoint is NULL");
        if (!losses_.empty()) {
            throw Error(Status::invalid_argument,
                        "samples were accumulated since the last step; restore after "
                        "surrogate_trainer_apply");
        }
        if (data_parallel().rank() != 0) return;
        file.emplace(data_parallel_->files(), path);
        require_same_training(*file);
        file->read(entry_of("counters", DType::int64, {n_counter}),
                   std::as_writable_bytes(std::span(&restored.counters, 1)));
        restored.note = file->about().value("note", "");
        restored.counters.n_note = std::ssize(restored.note);
        const Counters& c = restored.counters;
        const std::pair<const char*, int64_t> counters[] = {
            {"steps", c.step},
            {"steps that were not finite", c.n_bad},
            {"validations", c.n_seen},
            {"validations without improvement", c.n_worse},
            {"reductions of the rate", c.n_drop},
            {"stored samples", c.n_kept},
            {"offered samples", c.n_given},
            {"drawn samples", c.n_drawn}};
        for (const auto& [name, value] : counters) {
            if (value < 0)
                throw Error(Status::bad_file,
                            std::string("the checkpoint is corrupt: counter of ") + name + " is " +
                                std::to_string(value));
        }
        if (c.n_kept > recipe_.reservoir)
            throw Error(Status::bad_file,
                        "the checkpoint is corrupt: counter of stored samples is " +
                            std::to_string(c.n_kept) +
                            ", expected at most reservoir = " + std::to_string(recipe_.reservoir));
        read_ranges(*file, restored);
    });
    data_parallel().broadcast(&restored.counters, sizeof restored.counters, 0);
    std::optional<KeptExchange> kept;
    data_parallel().agree([&] { make_room_for(restored); });
    if (restored.counters.n_kept > 0) {
        data_parallel().agree([&] { kept.emplace(*this); });
        kept->connect();
    }
    data_parallel().broadcast(restored.note.data(), restored.counters.n_note, 0);
    for (std::vector<FieldRange>* ranges : {&restored.ranges, &restored.seen}) {
        const auto n_byte = static_cast<int64_t>(ranges->size() * sizeof(FieldRange));
        data_parallel().broadcast(ranges->data(), n_byte, 0);
    }
    data_parallel().agree([&] {
        const ModelCard& card = *model_->shared_card();
        if (card.ranges() != restored.ranges) restored.texts = card.texts_with(restored.ranges);
    });
    read_state(file ? &*file : nullptr, kept ? &*kept : nullptr, restored);
    take(restored);
}

/// On one rank: the ranges of the checkpoint's card, and of what was learnt. Throws bad_file.
void Trainer::read_ranges(const CheckpointFile& file, Restored& restored) const {
    const Card card = parse_card(dump_json(file.about().at("model")));
    restored.ranges = ModelCard(card, {}).ranges();
    restored.seen.resize(restored.ranges.size());
    const TensorEntry entry = ranges_entry(restored.seen.size());
    if (!file.has(entry.name)) return;
    file.read(entry, std::as_writable_bytes(std::span(restored.seen)));
    for (const FieldRange& range : restored.seen) {
        const bool is_finite = std::isfinite(range.min) && std::isfinite(range.max);
        if (range == FieldRange{} || (is_finite && range.min <= range.max)) continue;
        throw Error(Status::bad_file, "the checkpoint is corrupt: range " +
                                          std::to_string(range.min) + " .. " +
                                          std::to_string(range.max) +
                                          " of the samples, expected two finite, ascending values");
    }
}

void Trainer::make_room_for(Restored& restored) {
    restored.ranges.resize(n_input() + n_output());
    restored.seen.resize(n_input() + n_output());
    const int64_t n_arena = std::ssize(optimizer_->weights());
    const Counters& counters = restored.counters;
    const int n_moment = optimizer_->second_moment().empty() ? 1 : 2;
    const int n = 1 + n_moment + (recipe_.ema_decay > 0) + (counters.n_seen > 0);
    for (int i = 0; i < n; ++i) restored.arenas.emplace_back(n_arena);
    if (counters.n_seen > 0 && best_.size() == 0) best_ = kernels::Buffer<double>(n_arena);
    restored.slots.resize(static_cast<size_t>(counters.n_kept));
    for (Reservoir::Slot& slot : restored.slots) {
        slot.numbers = kernels::Buffer<double>(n_kept_number());
        slot.revision = kept_revision();
    }
    if (counters.n_kept > 0) reservoir_.slot(counters.n_kept - 1);
    restored.note.resize(static_cast<size_t>(counters.n_note));
}

/// Collective: rank 0 reads, all get it. Throws on all ranks.
void Trainer::read_state(const CheckpointFile* file, KeptExchange* kept, Restored& restored) {
    std::exception_ptr problem;
    const auto attempt = [&](const auto& work) {
        if (problem || !file) return;
        try {
            work();
        } catch (...) {
            problem = std::current_exception();
        }
    };
    std::vector<const char*> names = {"weights", "moment1"};
    if (!optimizer_->second_moment().empty()) names.push_back("moment2");
    if (recipe_.ema_decay > 0) names.push_back("average");
    if (restored.counters.n_seen > 0) names.push_back("best");
    for (size_t i = 0; i < names.size(); ++i) {
        kernels::Buffer<double>& arena = restored.arenas[i];
        for (const MasterWeights::Entry& entry : model_->weights()->entries()) {
            attempt([&] {
                file->read(
                    entry_of(std::string(names[i]) + "/" + entry.name, DType::float64, entry.shape),
                    std::as_writable_bytes(
                        std::span(arena.data() + entry.first, static_cast<size_t>(entry.size))));
            });
        }
        data_parallel().broadcast(arena.data(), arena.bytes(), 0);
    }
    for (int64_t g = 0; kept && g < group_.n; ++g) {
        for (int64_t s = 0; s < restored.counters.n_kept; ++s) {
            double* const own =
                group_.index == g ? restored.slots[static_cast<size_t>(s)].numbers.data() : nullptr;
            double* const targets = own ? own + n_kept_input() * plan_.input()->n_local() : nullptr;
            const auto bring = [&](const char* what, SampleGather& side, double* to,
                                   std::vector<int64_t> shape) {
                attempt([&] {
                    file->read(entry_of(kept_name(g, s, what), DType::float64, std::move(shape)),
                               std::as_writable_bytes(side.whole()));
                });
                side.scatter(g, to);
            };
            bring("inputs", kept->inputs, own, {plan_.input()->n_global(), n_kept_input()});
            bring("targets", kept->targets, targets,
                  {plan_.output()->n_global(), std::ssize(targets_)});
        }
    }
    data_parallel().agree([&] {
        if (problem) std::rethrow_exception(problem);
    });
}

/// Nothing in here fails but MasterWeights::refresh().
void Trainer::take(Restored& restored) {
    const Counters& counters = restored.counters;
    optimizer_->set_n_step(counters.step);
    n_bad_ = counters.n_bad;
    plateau_ = {counters.best, counters.n_seen, counters.n_worse, counters.n_drop};
    reservoir_.set_counts(counters.n_kept, counters.n_given, counters.n_drawn);
    const auto arenas = state();
    for (size_t i = 0; i < arenas.size(); ++i)
        std::ranges::copy(restored.arenas[i], arenas[i].second.begin());
    for (size_t s = 0; s < restored.slots.size(); ++s)
        reservoir_.slot(static_cast<int64_t>(s)) = std::move(restored.slots[s]);
    note_ = std::move(restored.note);
    std::ranges::copy(restored.seen, seen_.complete().begin());
    if (restored.texts)
        model_->shared_card()->set_ranges(restored.ranges, std::move(*restored.texts));
    validation_.clear();
    evaluated_.reset();
    model_->weights()->refresh();
}

}  // namespace surrogate::impl
