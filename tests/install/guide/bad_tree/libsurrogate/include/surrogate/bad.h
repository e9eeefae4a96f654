/* SPDX-License-Identifier: Apache-2.0 */
/* Read by tests that must find its faults: entities without comments. */

/* Describes a pair. */
typedef struct surrogate_pair {
    int first; /* of two */
    int second;
} surrogate_pair;

/* Values of a pair. */
enum {
    /* smallest value */
    SURROGATE_LOW = 0,
    SURROGATE_HIGH = 1
};

SURROGATE_API surrogate_status surrogate_pair_create(int x);
