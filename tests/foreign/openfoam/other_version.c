/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenFOAM of another version, for LD_PRELOAD: Foam::foamVersion::api. */
const int _ZN4Foam11foamVersion3apiE = 9912;
