! SPDX-License-Identifier: Apache-2.0
! The case: the lid at y = 1 moves with CAVITY_LID m/s, the other walls are at rest, both sides are
! planes of symmetry.
subroutine cs_f_user_boundary_conditions(nvar, nscal, icodcl, itrifb, itypfb, izfppp, dt, rcodcl)
use paramx
use numvar
use mesh
implicit none
integer          nvar, nscal
integer          icodcl(nfabor,nvar), itrifb(nfabor), itypfb(nfabor), izfppp(nfabor)
double precision dt(ncelet), rcodcl(nfabor,nvar,3)
integer          ifac, length
double precision lid
character(len=32) text

lid = 1.d0
call get_environment_variable('CAVITY_LID', text, length)
if (length > 0) read (text, *) lid
do ifac = 1, nfabor
  if (abs(surfbo(3,ifac)) > 0.d0) then
    itypfb(ifac) = isymet
  else
    itypfb(ifac) = iparoi
    if (cdgfbo(2,ifac) > 0.999999d0) rcodcl(ifac,iu,1) = lid
  endif
enddo
end subroutine
