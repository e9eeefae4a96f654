! SPDX-License-Identifier: Apache-2.0
! In step 3 the velocity of one cell of the last rank is NaN, before the routine in C runs the surrogate.
subroutine cs_f_user_extra_operations(nvar, nscal, dt)
use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan
use paramx
use numvar
use mesh
use parall
use field
use optcal, only: ntcabs
implicit none
integer          nvar, nscal
double precision dt(ncelet)
double precision, dimension(:,:), pointer :: velocity
call field_get_val_v(ivarfl(iu), velocity)
if (ntcabs == 3 .and. irangp == nrangp - 1) velocity(1, 5) = ieee_value(1.d0, ieee_quiet_nan)
end subroutine
