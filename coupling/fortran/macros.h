! SPDX-License-Identifier: Apache-2.0
! What the two variants of the modules differ in; included by every file.
!   Fortran 2018   arrays are type(*), dimension(..): any array, as it lies
!   fallback       SURROGATE_FORTRAN_FALLBACK: for compilers without assumed rank; arrays are type(surrogate_array), made by
!                  surrogate_make_array. Fortran 2003
#ifdef SURROGATE_FORTRAN_FALLBACK
#define ANY_ARRAY type(surrogate_array)
#define BOUND_ARRAY type(surrogate_array), intent(in)
#else
#define ANY_ARRAY type(*), dimension(..)
#define BOUND_ARRAY type(*), dimension(..), intent(inout), target
#endif
