C     SPDX-License-Identifier: Apache-2.0
C     The pressure of a fluid in a porous square, solved by an old
C     code: FORTRAN 77, fields with ghost cells in COMMON blocks, rows of
C     other ranks by mpif.h, sweeps of successive over-relaxation. The
C     lines that end with !+ are all that a trained network needs.
C
C       build   cmake -S examples/fortran77 -B old
C                  -DCMAKE_PREFIX_PATH=<prefix of libsurrogate>
C               cmake --build old
C       run     mpirun -n 2 old/darcy77 <model file>
C       prints  from zero:   342 sweeps, sum    7.9094 Pa
C               from the network:   152 sweeps, sum    7.9130 Pa
C
C         -div(a grad p) = 1,   p = 0 at the edges
C
      PROGRAM DARCY
      INCLUDE 'mpif.h'
      INCLUDE 'grid.inc'
      INTEGER ISG, IERR, NZERO, NGUESS
      DOUBLE PRECISION SZERO, SGUESS, TOTAL
      CHARACTER*256 MODEL
C
      CALL MPI_INIT(IERR)
      CALL GETARG(1, MODEL)
      CALL CELLS
      CALL FLUID
C
      CALL SGOPEN(ISG, ICOMM, MODEL, 2, N*NY, X, IERR)                  !+
      CALL CHECK(IERR)                                                  !+
      CALL SGIN(ISG, 'mobility', 'm^2/(Pa s)', A(1,1), N, NY, 1,        !+
     &   MX+2, MY+2, IERR)                                              !+
      CALL CHECK(IERR)                                                  !+
      CALL SGOUT(ISG, 'pressure', 'Pa', P(1,1), N, NY, 1,               !+
     &   MX+2, MY+2, IERR)                                              !+
      CALL CHECK(IERR)                                                  !+
C
      CALL SOLVE(NZERO)
      SZERO = TOTAL()
      CALL SGRUN(ISG, IERR)                                             !+
      CALL CHECK(IERR)                                                  !+
      CALL SOLVE(NGUESS)
      SGUESS = TOTAL()
      CALL SGCLOS(ISG, IERR)                                            !+
C
      IF (IRANK .EQ. 0) THEN
         WRITE (*, 100) 'zero', NZERO, SZERO
         WRITE (*, 100) 'the network', NGUESS, SGUESS
      END IF
      CALL MPI_FINALIZE(IERR)
  100 FORMAT (' from ', A, ':', I6, ' sweeps, sum', F10.4, ' Pa')
      END
C
C     Ends the program on an error of the surrogate. Every rank has one:
C     where another rank failed first, NOT_FINITE.
      SUBROUTINE CHECK(IERR)
      INCLUDE 'mpif.h'
      INCLUDE 'grid.inc'
      INTEGER IERR, L, IGNORE
      CHARACTER*400 MSG
      IF (IERR .EQ. 0) RETURN
      CALL SGMSG(MSG, L)
      IF (IRANK .EQ. 0) WRITE (*, *) 'surrogate: ', MSG(1:L)
C     After a failure of MPI the other ranks may wait for this rank.
      IF (IERR .EQ. 10 .OR. IERR .EQ. 11) CALL MPI_ABORT(ICOMM, 1,
     &   IGNORE)
      CALL MPI_FINALIZE(IGNORE)
      STOP 1
      END
C
C     Sets this rank's strip of cells.
      SUBROUTINE CELLS
      INCLUDE 'mpif.h'
      INCLUDE 'grid.inc'
      INTEGER NRANK, I, J, IERR
      ICOMM = MPI_COMM_WORLD
      CALL MPI_COMM_RANK(ICOMM, IRANK, IERR)
      CALL MPI_COMM_SIZE(ICOMM, NRANK, IERR)
      N = 40
      H = 1D0 / N
      J0 = N*IRANK / NRANK
      NY = N*(IRANK + 1) / NRANK - J0
      ISOUTH = IRANK - 1
      INORTH = IRANK + 1
      IF (IRANK .EQ. 0) ISOUTH = MPI_PROC_NULL
      IF (INORTH .EQ. NRANK) INORTH = MPI_PROC_NULL
      DO 20 J = 1, NY
         DO 10 I = 1, N
            X(1, I + (J-1)*N) = (I - 0.5D0) * H
            X(2, I + (J-1)*N) = (J0 + J - 0.5D0) * H
   10    CONTINUE
   20 CONTINUE
      DO 40 J = 0, NY + 1
         DO 30 I = 0, N + 1
            P(I,J) = 0
   30    CONTINUE
   40 CONTINUE
      END
C
C     Sets a smooth pattern of two fluids, and the coefficients of it.
      SUBROUTINE FLUID
      INCLUDE 'mpif.h'
      INCLUDE 'grid.inc'
      INTEGER I, J, K
      DOUBLE PRECISION PI, S, FACE
      PI = ACOS(-1D0)
      DO 20 J = 1, NY
         DO 10 I = 1, N
            K = I + (J-1)*N
            S = COS(PI*X(1,K)) + 1.5D0*COS(2*PI*X(2,K))
     &         + COS(3*PI*X(1,K)) * COS(2*PI*X(2,K))
            A(I,J) = 3 + 9 / (1 + EXP(-4*S))
   10    CONTINUE
   20 CONTINUE
      CALL GHOSTS(A)
      DO 40 J = 1, NY
         DO 30 I = 1, N
            CW(I,J) = FACE(A(I,J), A(I-1,J), I .EQ. 1)
            CE(I,J) = FACE(A(I,J), A(I+1,J), I .EQ. N)
            CS(I,J) = FACE(A(I,J), A(I,J-1), J0 + J .EQ. 1)
            CN(I,J) = FACE(A(I,J), A(I,J+1), J0 + J .EQ. N)
   30    CONTINUE
   40 CONTINUE
      END
C
C     The harmonic mean of two cells; an edge is half as far away.
      DOUBLE PRECISION FUNCTION FACE(A1, A2, ISEDGE)
      DOUBLE PRECISION A1, A2
      LOGICAL ISEDGE
      IF (ISEDGE) THEN
         FACE = 2*A1
      ELSE
         FACE = 2*A1*A2 / (A1 + A2)
      END IF
      END
C
C     Fills the rows of ghost cells that belong to other ranks. At the
C     edges of the square ghost cells stay as they are: zero.
      SUBROUTINE GHOSTS(F)
      INCLUDE 'mpif.h'
      INCLUDE 'grid.inc'
      DOUBLE PRECISION F(0:MX+1,0:MY+1)
      INTEGER IERR, ISTAT(MPI_STATUS_SIZE)
      CALL MPI_SENDRECV(F(1,NY), N, MPI_DOUBLE_PRECISION, INORTH, 0,
     &   F(1,0), N, MPI_DOUBLE_PRECISION, ISOUTH, 0, ICOMM, ISTAT, IERR)
      CALL MPI_SENDRECV(F(1,1), N, MPI_DOUBLE_PRECISION, ISOUTH, 1,
     &   F(1,NY+1), N, MPI_DOUBLE_PRECISION, INORTH, 1, ICOMM, ISTAT,
     &   IERR)
      END
C
C     Red and black sweeps from what P holds, until the residual is 1E-3
C     of the right-hand side.
      SUBROUTINE SOLVE(NSWEEP)
      INCLUDE 'mpif.h'
      INCLUDE 'grid.inc'
      INTEGER NSWEEP, I, J, ICOLOR, IERR
      DOUBLE PRECISION R, C, OMEGA, RMINE, RALL
      PARAMETER (OMEGA = 1.5D0)
      NSWEEP = 0
   10 CONTINUE
      RMINE = 0
      DO 40 ICOLOR = 0, 1
         CALL GHOSTS(P)
         DO 30 J = 1, NY
            DO 20 I = 1 + MOD(J0 + J + ICOLOR, 2), N, 2
               C = CW(I,J) + CE(I,J) + CS(I,J) + CN(I,J)
               R = H*H + CW(I,J)*P(I-1,J) + CE(I,J)*P(I+1,J)
     &            + CS(I,J)*P(I,J-1) + CN(I,J)*P(I,J+1) - C*P(I,J)
               P(I,J) = P(I,J) + OMEGA*R / C
               RMINE = RMINE + R*R
   20       CONTINUE
   30    CONTINUE
   40 CONTINUE
      CALL MPI_ALLREDUCE(RMINE, RALL, 1, MPI_DOUBLE_PRECISION, MPI_SUM,
     &   ICOMM, IERR)
      NSWEEP = NSWEEP + 1
      IF (SQRT(RALL) .GT. 1D-3*H) GO TO 10
      END
C
C     The sum of the pressure over all cells.
      DOUBLE PRECISION FUNCTION TOTAL()
      INCLUDE 'mpif.h'
      INCLUDE 'grid.inc'
      INTEGER I, J, IERR
      DOUBLE PRECISION S
      S = 0
      DO 20 J = 1, NY
         DO 10 I = 1, N
            S = S + P(I,J)
   10    CONTINUE
   20 CONTINUE
      CALL MPI_ALLREDUCE(S, TOTAL, 1, MPI_DOUBLE_PRECISION, MPI_SUM,
     &   ICOMM, IERR)
      END
