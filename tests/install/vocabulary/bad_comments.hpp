// SPDX-License-Identifier: Apache-2.0
// Read by a test that must find its faults.

/// Collective. Plans the exchange.
void connect();
/// Rows of this rank.
template <class T>
std::vector<T> rows(const std::function<void(int)>& call);
/// Returns the number of rows.
int n_row();
/// Rows of a struct have no function.
struct Rows {};
