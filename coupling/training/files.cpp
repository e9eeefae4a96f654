// SPDX-License-Identifier: Apache-2.0
// Output files of a training, and its resumption from them.
#include <cmath>
#include <nlohmann/json.hpp>

#include "coupling/job/note_reader.hpp"
#include "coupling/job/output_files.hpp"
#include "coupling/job/report_values.hpp"
#include "coupling/job/text.hpp"
#include "coupling/training/check_case.hpp"
#include "coupling/training/fingerprint.hpp"
#include "coupling/training/run.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;
constexpr int note_format = 1;

}  // namespace

std::string TrainRun::note() const {
    return json{{"format", note_format},
                {"epoch", epoch_},
                {"batch", batch_},
                {"step", step_},
                {"loss_sum", loss_sum_},
                {"n_loss", n_loss_},
                {"date", date_},
                {"history", history_.json()},
                {"essence", parts_.fingerprint}}
        .dump();
}

/// Checks that epochs match the rows of the history, and that steps are at most the number of
/// batches.
void TrainRun::read_note(const std::string& text) {
    const json found = json::parse(text, nullptr, false);
    const bool is_note =
        found.is_object() && found.contains("format") && found.at("format") == note_format;
    if (!is_note)
        throw Failure(Exit::bad_usage,
                      "'" + parts_.folder.checkpoint() +
                          "' is not a checkpoint of this version of surrogate train");
    const NoteReader note(found, "note");
    note.at("essence").require(note.at("essence").value().is_object(), "an object of texts");
    require_same(note.at("essence").value(), parts_.fingerprint, parts_.folder.path());
    const json& rows = note.at("history").value();
    note.at("history").require(rows.is_array(), "a list of epochs");
    epoch_ = note.at("epoch").whole(std::ssize(rows), std::ssize(rows));
    batch_ = note.at("batch").whole(0, n_batch_ - 1);
    step_ = note.at("step").whole(0, epoch_ * n_batch_ + batch_);
    loss_sum_ = note.at("loss_sum").number();
    note.at("loss_sum").require(!std::isnan(loss_sum_), "a finite number");
    n_loss_ = note.at("n_loss").whole(0, batch_);
    if (found.contains("date")) date_ = note.at("date").text();
    history_.restore(rows, step_);
}

void TrainRun::resume() {
    const std::string text = parts_.engine.trainer().restore(parts_.folder.checkpoint());
    parts_.job.agree([&] { read_note(text); });
}

void TrainRun::write_checkpoint() {
    parts_.folder.prepare_checkpoint();
    parts_.engine.trainer().save(parts_.folder.checkpoint(), note());
    parts_.folder.checkpoint_is_complete();
}

/// Writes the losses as a table and an image. A training continues if they cannot be written.
void TrainRun::write_curves() {
    if (!parts_.job.is_root() || parts_.folder.has_earlier()) return;
    const EpochRow* const best = history_.best();
    std::string title = parts_.folder.path();
    if (best != nullptr)
        title += ": best " + number(best->validation) + " at epoch " + std::to_string(best->epoch);
    try {
        write_output(parts_.folder.file("loss.csv"), history_.csv());
        const std::string picture = history_.chart(title);
        if (!picture.empty()) write_output(parts_.folder.file("loss.png"), picture);
    } catch (const std::exception& error) {
        if (progress_ != nullptr) progress_->warn(error.what());
    }
}

/// Returns the card with the results at the end of an epoch.
std::string TrainRun::card_text(const EpochRow* row) const {
    json card = parts_.card;
    json provenance = parts_.provenance;
    provenance["date"] = date_;
    if (row != nullptr) {
        provenance["epochs"] = row->epoch;
        provenance["steps"] = row->step;
        if (std::isfinite(row->loss)) provenance["training loss"] = row->loss;
        if (std::isfinite(row->validation)) {
            json errors = json::object();
            for (size_t i = 0; i < row->error.size(); ++i)
                errors[parts_.channels.outputs[i].name] = json_number(row->error[i]);
            provenance["validation loss"] = row->validation;
            const char* const what =
                parts_.channels.labels ? "fraction of wrong points" : "relative L2";
            if (!row->error.empty())
                provenance["error on held-out data"] = {
                    {what, errors}, {"samples", parts_.data.validation().size()}};
        }
    }
    card["provenance"] = provenance;
    return card.dump();
}

void TrainRun::write_model(const std::string& path, WeightSet which, const EpochRow* row,
                           bool is_final) {
    parts_.engine.trainer().save_model(path, which, card_text(row).c_str());
    if (!is_final) return;
    const auto& held_out = parts_.data.validation();
    const Pair& pair = held_out.empty() ? parts_.data.training().front() : held_out.front();
    if (parts_.data.file(pair.file).form().has_clouds) return;  // a check case has none
    add_check_case(parts_.job, parts_.data_parallel, parts_.data, parts_.channels, pair, path);
}

void TrainRun::write_models(bool is_final) {
    const auto& rows = history_.rows();
    const EpochRow* const last = rows.empty() ? nullptr : &rows.back();
    write_model(parts_.folder.last(), WeightSet::weights, last, is_final);
    if (const EpochRow* const best = history_.best())
        write_model(parts_.folder.best(), WeightSet::best, best, is_final);
    for (const Setting& setting : parts_.config.training)
        if (setting.key == "ema_decay" && std::stod(setting.value) > 0)
            write_model(parts_.folder.average(), WeightSet::ema, last, is_final);
}

}  // namespace surrogate::tool
