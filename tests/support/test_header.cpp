// SPDX-License-Identifier: Apache-2.0
// Exists so that the precompiled header of the tests has a target to belong to.
