C     SPDX-License-Identifier: Apache-2.0
C     Calls the wrapper for FORTRAN 77 (examples/fortran77) as an old
C     code does, on one rank without MPI:  old_caller_test <model>
C     The points are 3 x 2 cells inside an array with ghost cells.
      PROGRAM CALLER
      INTEGER ISG, ITWO, IERR, I, J, K
      DOUBLE PRECISION A, P, Q, S, X
      COMMON /FIELDS/ A(0:4,0:3), P(0:4,0:3), Q(6), S(6), X(2,6)
      INTEGER NBAD
      COMMON /COUNT/ NBAD
      CHARACTER*512 MODEL
C
      NBAD = 0
      CALL GETARG(1, MODEL)
      DO 20 J = 0, 3
         DO 10 I = 0, 4
            A(I,J) = -1D30
            P(I,J) = -7
   10    CONTINUE
   20 CONTINUE
      DO 40 J = 1, 2
         DO 30 I = 1, 3
            K = I + 3*(J-1)
            X(1,K) = I / 4D0
            X(2,K) = J / 3D0
            A(I,J) = 3 + K
            Q(K) = A(I,J)
            S(K) = -7
   30    CONTINUE
   40 CONTINUE
C
      CALL SGOPEN(ISG, 0, 'no_such_file', 2, 6, X, IERR)
      CALL EXPECT(ISG .EQ. 0 .AND. IERR .EQ. 4, 'IO: ')
      CALL SGRUN(ISG, IERR)
      CALL EXPECT(IERR .EQ. 1, 'ISG is 0, expected an open model')
      I = -HUGE(I)
      CALL SGRUN(I, IERR)
      CALL EXPECT(IERR .EQ. 1, '7, expected an open model')
      CALL SGOPEN(ISG, 0, MODEL, 2, 6, X, IERR)
      CALL EXPECT(IERR .EQ. 0, ' ')
      CALL SGIN(ISG, 'mobilty', ' ', A(1,1), 3, 2, 1, 5, 4, IERR)
      CALL EXPECT(IERR .EQ. 2, 'did you mean ''mobility''')
      CALL SGIN(ISG, 'mobility', 'm', A(1,1), 3, 2, 1, 5, 4, IERR)
      CALL EXPECT(IERR .EQ. 1, 'm^2/(Pa s)')
      CALL SGIN(ISG, 'mobility', 'm^2/(Pa s)', A(1,1), 3, 2, 1, 2, 4,
     &   IERR)
      CALL EXPECT(IERR .EQ. 1, 'are 3, 2, 1, LDX, LDY are 2, 4')
      CALL SGIN(ISG, 'mobility', 'm^2/(Pa s)', A(1,1), I, I, I, I, I,
     &   IERR)
      CALL EXPECT(IERR .EQ. 1, '7, expected 0 <= NX')
      CALL SGIN(ISG, 'mobility', 'm^2/(Pa s)', A(1,1), 2, 2, 1, 5, 4,
     &   IERR)
      CALL EXPECT(IERR .EQ. 3, 'SHAPE: ')
      CALL SGRUN(ISG, IERR)
      CALL EXPECT(IERR .EQ. 1, 'mobility')
C
      CALL SGIN(ISG, 'mobility', 'm^2/(Pa s)', A(1,1), 3, 2, 1, 5, 4,
     &   IERR)
      CALL EXPECT(IERR .EQ. 0, ' ')
      CALL SGOUT(ISG, 'pressure', 'Pa', P(1,1), 3, 2, 1, 5, 4, IERR)
      CALL EXPECT(IERR .EQ. 0, ' ')
      CALL SGRUN(ISG, IERR)
      CALL EXPECT(IERR .EQ. 0, ' ')
C
C     A second model, of the same points in a row.
      CALL SGOPEN(ITWO, 0, MODEL, 2, 6, X, IERR)
      CALL EXPECT(IERR .EQ. 0 .AND. ITWO .NE. ISG, ' ')
      CALL SGIN(ITWO, 'mobility', 'm^2/(Pa s)', Q, 6, 1, 1, 6, 1, IERR)
      CALL SGOUT(ITWO, 'pressure', 'Pa', S, 6, 1, 1, 6, 1, IERR)
      CALL SGRUN(ITWO, IERR)
      CALL EXPECT(IERR .EQ. 0, ' ')
      DO 60 J = 0, 3
         DO 50 I = 0, 4
            IF (I .GE. 1 .AND. I .LE. 3 .AND. J .GE. 1 .AND. J .LE. 2)
     &      THEN
               K = I + 3*(J-1)
               CALL EXPECT(P(I,J) .GT. 0 .AND. P(I,J) .EQ. S(K), ' ')
            ELSE
               CALL EXPECT(P(I,J) .EQ. -7, ' ')
            END IF
   50    CONTINUE
   60 CONTINUE
      CALL SGCLOS(ISG, IERR)
      CALL EXPECT(IERR .EQ. 0 .AND. ISG .EQ. 0, ' ')
      CALL SGRUN(ITWO, IERR)
      CALL EXPECT(IERR .EQ. 0, ' ')
      CALL SGCLOS(ITWO, IERR)
      IF (NBAD .GT. 0) STOP 1
      WRITE (*, 100) BIT_SIZE(IERR) / 8
  100 FORMAT (' all as expected, INTEGER of ', I1, ' bytes')
      END
C
C     Counts what is not as expected: a condition, and a part of the
C     last error's text.
      SUBROUTINE EXPECT(TRUE, PART)
      LOGICAL TRUE
      CHARACTER*(*) PART
      INTEGER NBAD, L
      COMMON /COUNT/ NBAD
      CHARACTER*1024 MSG
      MSG = ' '
      L = 1
      IF (PART .NE. ' ') CALL SGMSG(MSG, L)
      IF (TRUE .AND. INDEX(MSG(1:L), PART) .GT. 0) RETURN
      NBAD = NBAD + 1
      WRITE (*, *) 'NOT AS EXPECTED: ', PART, ': ', MSG(1:L)
      END
