/*
 * liveness.pml: the lease protocol of one worker ID in real time, with clocks that differ by at most EPS. Checks L1 (while
 * the coordinator is up, there is always a holder that can stamp) and L2 (after a holder is gone, the worker ID serves
 * again within its bound).
 *
 * Time moves by one tick only after every running process has had its turn: it polls, renews when due, and tries to
 * stamp. All times are kept relative to now, and what lies in the past is all one; so the state graph is finite and has
 * cycles, and the result holds for runs of any length with any number of disturbances. Disturbances are: crash and
 * restart of a process, a partition that cuts a process off, an outage of the coordinator, the coordinator's state
 * going back to any earlier one, or to nothing. Messages take no time here; window.pml has the late ones.
 *
 * BOUND is counted from the last disturbance, in ticks. It is the largest of
 *   LEASE                     the lease of a holder that is gone must run out first
 *   HORIZON + EPS + 1         its window may reach HORIZON past now by a fast clock, and the next begins one tick later
 *   RENEW + MAXH + EPS + 1    after a loss of state (not with -DNOLOSS): the next renewal finds it, and the floor is this
 *                             far away
 * and EPS more in the last case with -DRAISER: the floor is raised by a process, whose clock may say anything.
 * It is tight: with -DTIGHT, one tick less, the check fails. The other condition is HORIZON >= RENEW - 1 + EPS for every
 * holder: with less, its window runs out between two renewals.
 */

#ifndef LEASE
#define LEASE 3
#endif
#ifndef RENEW
#define RENEW 1                 /* ticks between two renewals */
#endif
#ifndef HORIZON
#define HORIZON 4               /* of process 0; process 1 has one tick less */
#endif
#ifndef MAXH
#define MAXH HORIZON
#endif
#ifndef EPS
#define EPS 1
#endif

#define MAX(a, b)    ((a) > (b) -> (a) : (b))
#define MIN(a, b)    ((a) < (b) -> (a) : (b))
#define H(p)         (HORIZON - (p))

#ifdef RAISER                   /* the clock of a process that raises the floor is up to AHEAD ticks ahead */
#define AHEAD    (EPS + 4)
#define MORE     EPS
#else                           /* it is the coordinator's */
#define AHEAD    0
#define MORE     0
#endif
#ifdef M_NOCLAMP                /* it is not compared with any other */
#define CLOCK(w) (w)
#else
#define CLOCK(w) MIN(w, NOW + EPS)
#endif

#ifdef NOLOSS
#define LONGEST  MAX(LEASE, HORIZON + EPS + 1)
#else
#define LONGEST  MAX(LEASE, MAX(HORIZON + EPS + 1, RENEW + MAXH + EPS + 1 + MORE))
#endif
#ifdef TIGHT
#define BOUND  (LONGEST - 1)
#else
#define BOUND  LONGEST
#endif

hidden byte L1_service, L2_takeover;

/* Ticks, relative to now: NOW is this tick, 0 any tick of the past. A clock reads NOW..NOW + EPS. */
#define NOW 1
#define CAP 14                  /* no tick is further away than this, unless a mutant runs away */

byte s_own;                     /* 0: nobody; 1, 2: process 0, 1. A generation is matched by valid[] below. */
byte s_na, s_nb, s_lease, floor;
bit  up = 1;

#define IDLE 0
#define WAIT 1
#define HELD 2
byte st[2], nb[2], na[2], lo[2], hi[2], due[2];
bit  valid[2];                  /* the process's (token, generation) is the slot's */
bit  cut[2];                    /* the process does not reach the coordinator */
bit  turn[2];                   /* it has had its turn in this tick */
bit  lostState;                 /* the state went back, and no request has found out yet */

/* Ghosts. */
byte calm;                      /* ticks since the last disturbance, up to BOUND + 1 */
bit  served;                    /* somebody stamped in this tick */

#define REACHES(p)  (st[p] != IDLE && !cut[p])
#define DISTURB     calm = 0; served = 0

/* The first request after a loss raises the floor, in the same step. */
inline detect(w) {
	if
	:: lostState -> floor = MAX(floor, CLOCK(w) + MAXH + EPS);
#ifndef M_REFLOOR	/* the new lineage is not written down: every request finds a loss */
		lostState = 0
#endif
	:: else
	fi
}

inline acquire(p, c, w) {
	detect(w);
	if
	:: s_lease > 0
	:: else ->
		s_own = p + 1; valid[1-p] = 0; valid[p] = 1; s_lease = LEASE;
		s_nb = MAX(s_na, floor); s_na = MIN(MAX(s_na, c + H(p)), CAP);
		st[p] = HELD; nb[p] = s_nb; na[p] = MAX(s_na, s_nb); lo[p] = 0; hi[p] = 0; due[p] = RENEW
	fi
}

inline renew(p, c, w) {
	detect(w);
	if
	:: !(valid[p] && s_own == p + 1) -> st[p] = WAIT; nb[p] = 0; na[p] = 0; lo[p] = 0; hi[p] = 0; due[p] = 0; valid[p] = 0
#ifdef M_NORESUME	/* a lease that expired is final, but the holder is not told so */
	:: valid[p] && s_own == p + 1 && s_lease == 0
#endif
	:: else ->
		s_lease = LEASE; due[p] = RENEW;
		if
		:: MAX(floor, s_nb) > na[p] ->          /* the floor has passed the window: a piece, held back */
			s_nb = MAX(floor, s_nb); s_na = MIN(MAX(s_na, c + H(p)), CAP);
			lo[p] = s_nb; hi[p] = MAX(s_na, s_nb)
		:: else ->
#ifdef M_RATCHET	/* wanted = last NotAfter + horizon, not clock + horizon */
			s_na = MIN(MAX(s_na, na[p] + H(p)), CAP);
#else
			s_na = MIN(MAX(s_na, c + H(p)), CAP);
#endif
			na[p] = MAX(na[p], s_na)
		fi
	fi
}

#ifdef M_FARCLOCK               /* a clock runs ahead by more than EPS */
#define FAST  (EPS + 3)
#else
#define FAST  EPS
#endif

/* One turn of process p: c is what its clock says for a request, d what it says for a stamp, w for a floor. */
inline act(p, c, d, w) {
	if
	:: st[p] == WAIT && up && !cut[p] -> acquire(p, c, w)
	:: st[p] == HELD && due[p] == 0 && up && !cut[p] -> renew(p, c, w)
	:: else
	fi;
	if
	:: st[p] == HELD && hi[p] > 0 && d > na[p] ->           /* the old window has ended: the piece's term begins */
		nb[p] = lo[p]; na[p] = hi[p]; lo[p] = 0; hi[p] = 0
	:: else
	fi;
	if
	:: st[p] == HELD && nb[p] < d && d <= na[p] -> served = 1
	:: else
	fi;
	turn[p] = 1
}

#define DEC(x)   x = ((x) > 0 -> (x) - 1 : 0)

/* A window of the past is all one, whatever its bounds were. */
inline older(p) {
	DEC(nb[p]); DEC(na[p]); DEC(lo[p]); DEC(hi[p]); DEC(due[p]); turn[p] = (st[p] == IDLE)
}

active proctype world()
{
	byte p, c, d, w;
	turn[0] = 1; turn[1] = 1;
	do
	:: atomic { !turn[0] || !turn[1] ->
		if :: !turn[0] -> p = 0 :: !turn[1] -> p = 1 fi;
		c = NOW; do :: c < NOW + FAST -> c++ :: break od;
		d = NOW; do :: d < NOW + EPS -> d++ :: break od;
		w = NOW; if :: AHEAD > 0 && lostState -> w = NOW + EPS :: AHEAD > 0 && lostState -> w = NOW + AHEAD :: true fi;
		d_step { act(p, c, d, w); p = 0; c = 0; d = 0; w = 0 } }

	/* The next tick. If nobody reaches the coordinator there is nothing to promise. */
	:: d_step { turn[0] && turn[1] ->
		if
		:: !up || !REACHES(0) && !REACHES(1) -> calm = 0
		:: else ->
#ifndef ONLY_L1
			assert(L2_takeover || calm != BOUND || served);
#endif
			assert(L1_service || calm <= BOUND || served);
			calm = MIN(calm + 1, BOUND + 1)
		fi;
		served = 0;
		older(0); older(1);
		DEC(s_na); DEC(s_nb); DEC(floor); DEC(s_lease);
		if
		:: s_lease == 0 && st[0] != HELD && st[1] != HELD -> s_own = 0; s_nb = 0
		:: else
		fi }

	/* Disturbances: at any moment, as many as you like. */
	:: d_step { st[0] == IDLE -> st[0] = WAIT; turn[0] = 0; DISTURB }
	:: d_step { st[1] == IDLE -> st[1] = WAIT; turn[1] = 0; DISTURB }
	:: atomic { st[0] != IDLE || st[1] != IDLE ->
		if :: st[0] != IDLE -> p = 0 :: st[1] != IDLE -> p = 1 fi;
		d_step { st[p] = IDLE; nb[p] = 0; na[p] = 0; lo[p] = 0; hi[p] = 0; due[p] = 0; valid[p] = 0; cut[p] = 0;
			turn[p] = 1; p = 0; DISTURB } }
	:: d_step { st[0] != IDLE -> cut[0] = !cut[0]; DISTURB }
	:: d_step { st[1] != IDLE -> cut[1] = !cut[1]; DISTURB }
	:: d_step { up = !up; DISTURB }
#ifndef NOLOSS
	:: atomic { !lostState ->                               /* back to a state in which it had stored less */
		do :: s_na > 0 -> s_na-- :: break od;
		if :: true :: s_own = 0; valid[0] = 0; valid[1] = 0; s_nb = 0 fi;
		d_step { s_nb = MIN(s_nb, s_na); s_lease = 0; lostState = 1; DISTURB } }
#endif
	od
}
