/*
 * quarantine.pml: the lease protocol of one worker ID, with a coordinator that loses its memory once. Checks S9, and
 * again S1, S4 and S5.
 *
 * Once, at any moment, the coordinator's state (slot and meta) goes back to what it was at some earlier moment, or to
 * nothing. From the next request on it knows that this happened (Redis: another run_id or replication ID; etcd and
 * ZooKeeper: the operator's runbook), and raises the floor in the same atomic step, before it answers.
 *
 * Time is modelled here, because S9 cannot hold without it: `now` is the clock of the coordinator that detects the
 * loss, and every other clock is within EPS of it, read anew at each use, also backwards. Only the wanted NotAfter
 * (clock + horizon) and the floor are taken from clocks. Stamping needs none: it picks any tick of the window.
 *
 * The two processes have different horizons. Messages are as in window.pml: lost, delayed, reordered, repeated.
 */

#ifndef TM
#define TM 2                    /* time runs from 0 to TM */
#endif
#ifndef EPS
#define EPS 1                   /* clock skew bound */
#endif
#ifndef MAXH
#define MAXH 2                  /* the driver's constant MaxHorizon: without DECL, no horizon is longer */
#endif
#ifdef DECL                     /* the namespace is declared with a longer horizon, which every copy of the state has */
#define LONGEST  DECL
#else
#define LONGEST  MAXH
#endif
#define H0   LONGEST            /* horizon of process 0 */
#define H1   1                  /* horizon of process 1, which knows no other */
#ifndef GMAX
#define GMAX 3                  /* the search ends where a generation would pass this */
#endif
#define R 2                     /* requests under way at once */

#include "checks.h"

#define MAX(a, b)    ((a) > (b) -> (a) : (b))
#define MIN(a, b)    ((a) < (b) -> (a) : (b))
#define HORIZON(p)   ((p) == 0 -> H0 : H1)

byte now;

/* ---- The coordinator. Generations are numbers here: after a loss the same number can be given out again. ---- */
byte s_tok, s_gen, s_nb, s_na;
bit  s_lease;
byte floor;

/* The state that the loss goes back to: a copy taken at any one moment before it, or empty. The floor in it is 0. The lease
 * that comes back with it is alive or gone. */
byte old_tok, old_gen, old_nb, old_na;
bit  copied, lost;

/* ---- Processes, requests, replies: as in window.pml. ---- */
#define IDLE 0
#define WAIT 1
#define HELD 2
byte st[2], tok[2], gen[2], na[2], last[2];
byte plo[2], phi[2];            /* a further piece (lo, hi] that is held back until the window in use has ended; phi 0: none */
bit  spent[2];

#define ACQ 1
#define REN 2
#define REL 3
#define REQUEST(kind, tk, g, x, y)  (((kind) << 12) | ((g) << 9) | ((x) << 6) | ((y) << 3) | (tk))
#define KIND(m)    ((m) >> 12)
#define GEN(m)    (((m) >> 9) & 7)
#define HNA(m)    (((m) >> 6) & 7)
#define WANT(m)   (((m) >> 3) & 7)
#define TOKEN(m)   ((m) & 7)
short net[R];
#define ROOM  (net[R-1] == 0)
#define IN_NET(cond0, cond1)  ((cond0) || (cond1))

#define GRANTED  1
#define EXTENDED 2
#define PIECE    3
#define REPLY(kind, g, lo, hi)  (((kind) << 9) | ((g) << 6) | ((lo) << 3) | (hi))
#define RKIND(m)   ((m) >> 9)
#define RGEN(m)   (((m) >> 6) & 7)
#define RLO(m)    (((m) >> 3) & 7)
#define RHI(m)     ((m) & 7)
short reply[2];
#ifdef ONEREPLY                 /* at most one under way in all */
#define FREE(p)  (reply[0] == 0 && reply[1] == 0)
#else
#define FREE(p)  (reply[p] == 0)
#endif

/* ---- Ghost: the witness of S1, as in window.pml. ---- */
byte seen, by;
#define GONE 2

/* Names of tokens. When an incarnation of p ends, its name becomes DEAD(p). Two dead incarnations of one process then
 * share a name: that can only add behaviour (a late message of one may be taken for the other's), so a correct result
 * stands. With -DEXACT a process restarts only once the name is free, so that a mutant's error is never due to it. */
#define LIVE(p)  (1 + (p))
#define DEAD(p)  (3 + (p))
#define NOBODY   7              /* a dead incarnation of which no renewal or release is under way: nameless */

#ifdef M_GENONLY                /* renewals compare a number alone, as a version or revision check does */
#define MINE(m)   (s_tok != 0 && s_gen == GEN(m))
#else
#define MINE(m)   (s_tok == TOKEN(m) && s_gen == GEN(m))
#endif

hidden byte k;                  /* counts inside one d_step only; no part of the state */

inline sortNet() {
	if
	:: net[0] < net[1] -> net[0] = net[0] ^ net[1]; net[1] = net[0] ^ net[1]; net[0] = net[0] ^ net[1]
	:: net[0] == net[1] -> net[1] = 0
	:: else
	fi
}

#define ACQUIRES(m, tk)  (KIND(m) == ACQ && TOKEN(m) == (tk))
#define HOLDS(m, tk)     (KIND(m) > ACQ && TOKEN(m) == (tk))

/* May (token, generation) match the slot again, although it does not match now? If the loss brings it back, or if a late
 * acquire of the same token is executed after the loss and gets the same generation. */
#ifdef M_GENONLY
#define AGAIN(tk, g)   true
#define FORGETFUL      false
#else
#define AGAIN(tk, g)  (!lost && (tk) == old_tok && (g) == old_gen || \
	IN_NET(ACQUIRES(net[0], tk), ACQUIRES(net[1], tk)) && (!lost || (g) > s_gen))
#define FORGETFUL      true
#endif

/* What can have no effect any more is forgotten, which saves states. */
inline tidy() {
	for (k : 0 .. R - 1) {
		if
		:: KIND(net[k]) > ACQ && !MINE(net[k]) && !AGAIN(TOKEN(net[k]), GEN(net[k])) -> net[k] = 0
		:: else
		fi
	}
	for (k : 0 .. R - 1) {                  /* nobody listens to the answers of the dead */
		if
		:: KIND(net[k]) == ACQ && TOKEN(net[k]) >= DEAD(0) && TOKEN(net[k]) != NOBODY &&
		   !IN_NET(HOLDS(net[0], TOKEN(net[k])), HOLDS(net[1], TOKEN(net[k]))) ->
			net[k] = net[k] - TOKEN(net[k]) + NOBODY
		:: else
		fi
	}
	sortNet();
	if
	:: FORGETFUL && s_tok >= DEAD(0) && !IN_NET(HOLDS(net[0], s_tok), HOLDS(net[1], s_tok)) -> s_tok = 0
	:: else
	fi;
	if
	:: s_tok == 0 -> s_nb = 0
	:: else
	fi;
	if
	:: FORGETFUL && old_tok >= DEAD(0) && !IN_NET(HOLDS(net[0], old_tok), HOLDS(net[1], old_tok)) -> old_tok = 0
	:: else
	fi;
	if
	:: old_tok == 0 -> old_nb = 0
	:: else
	fi;
	for (k : 0 .. 1) {                      /* a grant that will never match again is as good as generation 0 */
		if
		:: st[k] == HELD && !(tok[k] == s_tok && gen[k] == s_gen) && !AGAIN(tok[k], gen[k]) -> gen[k] = 0
		:: else
		fi
	}
	k = 0
}

inline send(m) {
	if
	:: KIND(m) > ACQ && !MINE(m) && !AGAIN(TOKEN(m), GEN(m))
	:: else ->
		if
		:: IN_NET(net[0] == (m), net[1] == (m))
		:: else -> net[R-1] = m; sortNet()
		fi
	fi
}

inline rename(p) {
	for (k : 0 .. R - 1) {
		if
		:: net[k] != 0 && TOKEN(net[k]) == LIVE(p) -> net[k] = net[k] - LIVE(p) + DEAD(p)
		:: else
		fi
	}
	if
	:: s_tok == LIVE(p) -> s_tok = DEAD(p)
	:: else
	fi;
	if
	:: old_tok == LIVE(p) -> old_tok = DEAD(p)
	:: else
	fi;
	tidy()
}

inline end(p) {
	if
	:: seen != 0 && by == p -> by = GONE
	:: else
	fi;
	st[p] = IDLE; tok[p] = 0; reply[p] = 0; last[p] = 0; gen[p] = 0; na[p] = 0; spent[p] = 0; plo[p] = 0; phi[p] = 0;
	rename(p)
}

#ifdef EXACT
#define MAYSTART(p)  (s_tok != DEAD(p) && old_tok != DEAD(p) && !IN_NET(TOKEN(net[0]) == DEAD(p), TOKEN(net[1]) == DEAD(p)))
#else
#define MAYSTART(p)  true
#endif

/* The end of the newest piece that was granted: a renewal carries it. */
#define NEWEST(p)  (phi[p] > 0 -> phi[p] : na[p])

proctype holder(byte p)
{
	byte v, own;
	do
	:: d_step { st[p] == IDLE && MAYSTART(p) -> tok[p] = LIVE(p); st[p] = WAIT }

	:: atomic { st[p] == WAIT && ROOM -> v = MAX(now - EPS, 0);
		do :: v < now + EPS -> v++ :: break od;
		d_step { v = v + HORIZON(p); send(REQUEST(ACQ, tok[p], 0, 0, v)); v = 0 } }

	:: d_step { st[p] == WAIT && RKIND(reply[p]) == GRANTED ->
		gen[p] = RGEN(reply[p]); na[p] = RHI(reply[p]); last[p] = RLO(reply[p]); spent[p] = 1;
		reply[p] = 0; st[p] = HELD; tidy() }

	:: atomic { st[p] == HELD && ROOM && NEWEST(p) < now + EPS + HORIZON(p) -> v = MAX(now - EPS, 0);
		do :: v < now + EPS -> v++ :: break od;
		v + HORIZON(p) > NEWEST(p);
		d_step { v = v + HORIZON(p); own = NEWEST(p); send(REQUEST(REN, tok[p], gen[p], own, v)); v = 0; own = 0 } }

	:: d_step { st[p] == HELD && RKIND(reply[p]) == EXTENDED ->
		if
		:: phi[p] > 0 -> phi[p] = MAX(phi[p], RHI(reply[p]))
		:: else -> na[p] = MAX(na[p], RHI(reply[p]))
		fi;
		reply[p] = 0 }

	:: d_step { st[p] == HELD && RKIND(reply[p]) == PIECE && (phi[p] == 0 || plo[p] == RLO(reply[p])) ->
#ifdef M_JOIN	/* the holder takes a piece for a longer window, and uses the gap too */
		na[p] = RHI(reply[p]);
#else
		plo[p] = RLO(reply[p]); phi[p] = MAX(phi[p], RHI(reply[p]));
#endif
		reply[p] = 0 }
	:: d_step { st[p] == HELD && phi[p] > 0 ->
		spent[p] = (plo[p] >= last[p] -> 1 : spent[p]); last[p] = MAX(last[p], plo[p]); na[p] = phi[p];
		plo[p] = 0; phi[p] = 0 }

	:: atomic { st[p] == HELD && last[p] + spent[p] <= na[p] -> v = last[p] + spent[p];
		do :: v < na[p] -> v++ :: break od;
		CHECK_S1(seen != v || by == p);
		last[p] = v; spent[p] = 0;
		if
		:: seen == 0 -> seen = v; by = p
		:: true
		fi;
		v = 0 }

	:: d_step { st[p] == HELD && ROOM -> send(REQUEST(REL, tok[p], gen[p], 0, last[p])); end(p) }

	:: d_step { st[p] != IDLE -> end(p) }
	od
}

inline answer(m, state, r) {
	for (k : 0 .. 1) {
		if
		:: tok[k] == TOKEN(m) && st[k] == state && FREE(k) -> reply[k] = r
		:: else
		fi
	}
}

inline acquire(m) {
	if
	:: s_lease && s_tok == TOKEN(m) ->
#ifdef SAMEGRANT	/* not a mutant: the stored grant may be repeated as it is, even if the floor has passed it */
		lo = s_nb; hi = MAX(s_na, lo);
#else
		lo = MAX(s_nb, floor); hi = MAX(s_na, lo);
#endif
		answer(m, WAIT, REPLY(GRANTED, s_gen, lo, hi))
	:: s_lease && s_tok != TOKEN(m)
	:: !s_lease && s_gen == GMAX                            /* the bound of the search */
	:: else ->
		s_tok = TOKEN(m); s_lease = 1; s_gen++;
		s_nb = MAX(s_na, floor); s_na = MAX(s_na, WANT(m));
		CHECK_S4(s_nb >= floor);
		hi = MAX(s_na, s_nb);
		answer(m, WAIT, REPLY(GRANTED, s_gen, s_nb, hi))
	fi
}

/* Has the floor passed the window in the holder's grant? The stored NotBefore counts like the floor: after a loss the
 * same token (in a repeated acquire) can get the same generation again, in a later window, with others before it. */
#ifdef M_FLOORONLY              /* the stored NotBefore is not looked at */
#define BASE  floor
#else
#define BASE  MAX(floor, s_nb)
#endif
#ifdef M_STOREDNA               /* the question is asked about the stored NotAfter */
#define PASSED(m)  (BASE > MAX(s_na, HNA(m)))
#else
#define PASSED(m)  (BASE > HNA(m))
#endif

inline renew(m) {
	if
	:: !MINE(m)
	:: else ->
		s_lease = 1;
		if
#if !defined(M_EXEMPT) && !defined(M_INPLACE)
		:: PASSED(m) ->
			s_nb = BASE; s_na = MAX(s_na, WANT(m)); hi = MAX(s_na, s_nb);
			if
			:: hi > s_nb -> answer(m, HELD, REPLY(PIECE, 0, s_nb, hi))
			:: else
			fi
#endif
#ifdef M_INPLACE	/* across a floor the window grows in place, gap included */
		:: PASSED(m) && WANT(m) <= floor
#endif
		:: else ->	/* M_EXEMPT: always, as if renewals had nothing to do with the floor */
			s_na = MAX(s_na, WANT(m));
			CHECK_S5(s_na <= HNA(m) || HNA(m) >= floor);
			answer(m, HELD, REPLY(EXTENDED, 0, 0, s_na))
		fi
	fi
}

#ifdef M_TRIMLOW                /* a release trims to its last tick, even below the stored NotBefore */
#define TRIM(m)  WANT(m)
#else
#define TRIM(m)  MAX(WANT(m), s_nb)
#endif

inline release(m) {
	if
	:: !MINE(m)
	:: else -> s_na = MIN(s_na, TRIM(m)); s_tok = 0; s_lease = 0; s_nb = 0
	fi
}

#ifdef M_NOFLOOR                /* the loss is not noticed */
#define FLOOR(m)  0
#elif defined(M_FLOORSHORT)     /* one tick less */
#define FLOOR(m)  (now + LONGEST + EPS - 1)
#elif defined(M_NOSKEW)         /* the skew between the clocks is forgotten */
#define FLOOR(m)  (now + LONGEST)
#elif defined(M_OWNH)           /* by the driver's constant alone, whatever the namespace declares */
#define FLOOR(m)  (now + MAXH + EPS)
#elif defined(M_UNREMEMBERED)   /* what the namespace declares counts only where it is stored */
#define FLOOR(m)  (now + EPS + (copied -> LONGEST : MAXH))
#elif defined(M_JOINERH)        /* from the horizon of the one whose request finds the loss */
#define FLOOR(m)  (now + EPS + (TOKEN(m) == LIVE(0) || TOKEN(m) == DEAD(0) -> H0 : H1))
#elif defined(M_STOREDH)        /* from a horizon kept in meta, and lost with it: the joiner stores its own anew */
#define FLOOR(m)  (now + EPS + (copied -> MAXH : H1))
#else
#define FLOOR(m)  (now + LONGEST + EPS)
#endif

/* What nobody may have been granted before the loss: anything above the floor. */
#define BELOW(p)  (st[p] != HELD || na[p] <= floor)
#define LATER(p)  (reply[p] == 0 || RHI(reply[p]) <= floor)

/* The loss, and its detection by the request m. Between the two the coordinator does nothing, so the model may as well
 * put them together: this is the worst case, because the floor is computed from the time of detection. */
inline lose(m) {
	s_tok = old_tok; s_gen = old_gen; s_nb = old_nb; s_na = old_na; s_lease = alive;
	floor = FLOOR(m);
	old_tok = 0; old_gen = 0; old_nb = 0; old_na = 0; copied = 0; lost = 1;
	CHECK_S9(BELOW(0) && BELOW(1) && LATER(0) && LATER(1))
}

proctype coordinator()
{
	byte i, lo, hi;
	bit loses, alive;
	do
	:: atomic { net[0] != 0 -> i = 0;
		do :: i < R - 1 && net[i+1] != 0 -> i++ :: break od;
		if
		:: loses = 0
		:: !lost -> loses = 1
		:: !lost && copied -> loses = 1; alive = 1
		fi;
		d_step {
			if
			:: loses -> lose(net[i])
			:: else
			fi;
			if
			:: KIND(net[i]) == ACQ -> acquire(net[i])
			:: KIND(net[i]) == REN -> renew(net[i])
			:: KIND(net[i]) == REL -> release(net[i])
			fi;
			tidy();
			i = 0; lo = 0; hi = 0; loses = 0; alive = 0 } }

	:: d_step { s_lease -> s_lease = 0 }

#ifndef FLUSH	/* with it: the loss leaves nothing, which is a smaller search */
	:: d_step { !lost && !copied && s_gen > 0 ->
		old_tok = s_tok; old_gen = s_gen; old_nb = s_nb; old_na = s_na; copied = 1; tidy() }
#endif
	od
}

proctype network()
{
	byte i;
	do
	:: atomic { net[0] != 0 -> i = 0;
		do :: i < R - 1 && net[i+1] != 0 -> i++ :: break od;
		d_step { net[i] = 0; tidy(); i = 0 } }
	:: d_step { reply[0] != 0 -> reply[0] = 0 }
	:: d_step { reply[1] != 0 -> reply[1] = 0 }
	:: d_step { now < TM -> now++ }
	od
}

init {
	atomic { run holder(0); run holder(1); run coordinator(); run network() }
}
