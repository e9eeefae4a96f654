/* SPDX-License-Identifier: Apache-2.0 */
/* Read by tests that must find its faults, which share/doc/missing.md does not list. */

/* Where the lattice of that of another rank is. */
SURROGATE_API surrogate_status surrogate_one(int x);
SURROGATE_API surrogate_status surrogate_two(int x);
