// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/note_reader.hpp"

#include <cmath>
#include <limits>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"

namespace surrogate::tool {

void NoteReader::require(bool is_right, const std::string& expected) const {
    if (is_right) return;
    throw Failure(Exit::bad_usage, "the training note is damaged: '" + key_ + "' is " +
                                       one_line(value_->dump(), 60) + ", expected " + expected);
}

NoteReader NoteReader::at(size_t index) const {
    return {value_->at(index), key_ + "[" + std::to_string(index) + "]"};
}

NoteReader NoteReader::at(const std::string& key) const {
    const auto found = value_->find(key);
    if (found == value_->end())
        throw Failure(Exit::bad_usage, "the training note is damaged: '" + key + "' is missing");
    return {*found, key};
}

int64_t NoteReader::whole(int64_t least, int64_t most) const {
    const std::string expected =
        "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    require(value_->is_number_integer(), expected);
    // Unsigned numbers above the range of int64_t become negative.
    const bool is_large =
        value_->is_number_unsigned() &&
        value_->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    const auto number = value_->get<int64_t>();
    require(!is_large && number >= least && number <= most, expected);
    return number;
}

double NoteReader::number() const {
    if (value_->is_null()) return std::numeric_limits<double>::quiet_NaN();
    require(value_->is_number() && std::isfinite(value_->get<double>()), "a finite number or null");
    return value_->get<double>();
}

std::string NoteReader::text() const {
    require(value_->is_string(), "a text");
    return value_->get<std::string>();
}

}  // namespace surrogate::tool
