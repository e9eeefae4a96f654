// SPDX-License-Identifier: Apache-2.0
// Read by tests that must find its faults.

namespace surrogate {

/// A pair of numbers.
class Pair {
public:
    int first() const { return first_; }
    /// The second number.
    int second() const { return second_; }

private:
    int first_ = 0, second_ = 0;
};

}  // namespace surrogate
