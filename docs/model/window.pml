/*
 * window.pml: the lease protocol of one worker ID, with clocks that may do anything. Checks S1 to S8.
 *
 * Two processes compete for ONE worker ID. The coordinator keeps one slot and the namespace's meta record. Every
 * request is a message which may be lost, delayed, reordered, and executed any number of times, also long after its
 * sender is gone. Replies may be lost or delayed. A process may crash and restart any number of times, and the worker
 * ID may change hands any number of times. With -DRESUME a restarted process may also take over the grant of its dead
 * incarnation, with Resume. What is bounded: the number of ticks, of processes, and of messages that
 * are under way at once.
 *
 * What is NOT modelled, on purpose: time. No step waits for a clock and no step compares one, so a result of this model
 * holds for every behaviour of every clock. "Clock now + horizon" is an arbitrary tick, another one at each use, which
 * also covers holders with different horizons. A lease may expire at any moment.
 *
 * One worker ID is enough for S1: windows, generations and leases are kept per worker ID, and no step of the
 * coordinator reads two slots. What one PROCESS does with two worker IDs is the subject of term.pml.
 *
 * A mutant is one -D switch, explained beside the line that it breaks. README.md says how to run this.
 */

#ifndef T
#define T 3                     /* ticks are 1..T; T is the last tick that the layout's time bits can hold (at most 6) */
#endif
#ifndef R
#define R 2                     /* requests under way at once: 2 or 3 */
#endif
#ifndef FLOORMAX
#define FLOORMAX T              /* the floor is raised at most to here */
#endif

#include "checks.h"

#define MAX(a, b)    ((a) > (b) -> (a) : (b))
#define MIN(a, b)    ((a) < (b) -> (a) : (b))

/*
 * A generation is only ever compared with the slot's, for equality, and the slot's only goes up. So all that matters
 * about a generation is whether it is still the slot's: CURRENT or OLD. Each new grant turns what was CURRENT into OLD.
 * This keeps the states finite without a bound on the number of grants.
 */
#define OLD     0
#define CURRENT 1

/* ---- The coordinator's state: the slot, and meta (whose layout fingerprint is the constant 0). ---- */
byte s_tok;                     /* token of the incarnation that was granted last; 0: released, or never granted */
byte s_nb;                      /* NotBefore of the piece that was granted last */
byte s_na;                      /* the stored NotAfter */
bit  s_lease;                   /* the liveness mark: present or gone; it decides when others may have the worker ID */
byte floor;

/* ---- The processes. Each runs one incarnation of a holder at a time. ---- */
#define IDLE 0                  /* no incarnation: not started, crashed, closed, or told that the lease is lost */
#define WAIT 1                  /* has a token, waits for a grant */
#define HELD 2                  /* has a grant, and the gate is open */
byte st[2], tok[2], na[2], last[2];
byte plo[2], phi[2];            /* a further piece (lo, hi] that is held back until the window in use has ended; phi 0: none */
bit  gen[2];
bit  spent[2];                   /* no sequence number is left in tick last[p]: so it is when a term starts at NotBefore */
#ifdef M_RESUME
byte nb[2];
#endif
#ifdef RESUME
/* A crash leaves a file behind: the grant, the tokens that were sent for it since, and a mark, above which nothing was
 * stamped. While it is there, last[], na[], plo[], phi[] and gen[] are what it says, until an answer confirms a new token;
 * gen[] is CURRENT as long as the slot's grant is one of those in the file. */
bit  file[2];
#define PENDING(p)  file[p]
#else
#define PENDING(p)  false
#endif
bit  layout[2];                 /* fingerprint of the process's own layout */

/* ---- Requests. One is one number, so that the buffer can be kept sorted: otherwise each order of arrival of the same
 * messages would be a state of its own. ---- */
#define ACQ 1
#define REN 2
#define REL 3
#define RES 4                   /* Resume: its token is the new one */
#define REQUEST(kind, tk, g, lay, x, y)  \
	(((kind) << 11) | ((g) << 10) | ((lay) << 9) | ((x) << 6) | ((y) << 3) | (tk))
#define KIND(m)    ((m) >> 11)
#define GEN(m)    (((m) >> 10) & 1)
#define LAYOUT(m) (((m) >> 9) & 1)
#define HNA(m)    (((m) >> 6) & 7)      /* Renew, Resume: the NotAfter of the holder's own grant */
#define WANT(m)   (((m) >> 3) & 7)      /* Acquire, Renew, Resume: the NotAfter asked for; Release: the last tick stamped */
#define TOKEN(m)   ((m) & 7)
short net[R];                   /* sorted, the largest first; 0: no message */
#define ROOM  (net[R-1] == 0)
#if R == 2
#define IN_NET(cond0, cond1, cond2)  ((cond0) || (cond1))
#else
#define IN_NET(cond0, cond1, cond2)  ((cond0) || (cond1) || (cond2))
#endif

/* ---- Replies: at most one under way to each process. It is dropped with the incarnation it was meant for, because
 * it travels on that incarnation's connection. A reply to a living incarnation may be as late as it likes. ---- */
#define GRANTED  1              /* a new grant (lo, hi] */
#define EXTENDED 2              /* your window now ends at hi */
#define PIECE    3              /* a further, separate piece (lo, hi] of your grant: a new term */
#define REPLY(kind, g, lo, hi)  (((kind) << 7) | ((g) << 6) | ((lo) << 3) | (hi))
#define RKIND(m)   ((m) >> 7)
#define RGEN(m)   (((m) >> 6) & 1)
#define RLO(m)    (((m) >> 3) & 7)
#define RHI(m)     ((m) & 7)
short reply[2];
#ifdef ONEREPLY                 /* at most one under way in all */
#define FREE(p)  (reply[0] == 0 && reply[1] == 0)
#else
#define FREE(p)  (reply[p] == 0)
#endif

/*
 * ---- Ghost: it watches, and no step of the protocol reads it. ----
 * A duplicate is two incarnations stamping the same block of IDs. Remembering the users of every block would
 * multiply the states; instead one stamp, any one, is picked as the witness, and S1 says that nobody else stamps its
 * block. The search tries every stamp as the witness, so no duplicate is missed.
 */
byte seen;                      /* the witness's block; 0: no witness yet */
byte seenTick;                  /* its tick: differs from the block only in mutants, and for another layout */
byte by;                        /* who stamped it: process 0 or 1 in its present incarnation, or one that is GONE */
#define GONE 2

/* The block of ID numbers that a tick stands for, from 1. Under another layout (say one sequence bit less) the numbers
 * of a tick are those of an earlier tick: so mixing layouts breaks S1 although the windows never overlap. */
#ifdef M_WRAP                   /* ticks past the time bits are masked, and come round again */
#define BLOCK(p, t)  (1 + ((t) > T -> (t) - T : (t) - layout[p]))
#define CLAMP(t)     (t)
#else
#define BLOCK(p, t)  (1 + (t) - layout[p])
#define CLAMP(t)     MIN(t, T)
#endif

#ifdef M_NOOWNER                /* renew and release compare nothing */
#define MINE(m)   true
#define STALE(m)  false
#else
#ifdef M_NOGEN                  /* they compare the owner and not the generation */
#define MINE(m)   (s_tok == TOKEN(m))
#define STALE(m)  false
#else
#ifdef GENONLY                  /* not a mutant here: a number alone, as a version or revision check compares, is enough */
#define MINE(m)   (s_tok != 0 && GEN(m) == CURRENT)
#else
#ifdef RESUME                   /* the slot's grant is that of the process's dead incarnation, or has the new token already */
#define MINE(m)   (GEN(m) == CURRENT && (KIND(m) == RES -> NAMES(s_tok, OWNER(m)) : s_tok == TOKEN(m)))
#else
#define MINE(m)   (s_tok == TOKEN(m) && GEN(m) == CURRENT)
#endif
#endif
#define STALE(m)  (KIND(m) != ACQ && !MINE(m))  /* will never match again: dropped at once, to save states */
#endif
#endif

hidden byte k;                  /* these two count inside one d_step only, and are no part of the state */
hidden byte n;

inline sortNet() {
	for (k : 1 .. R - 1) {
		for (n : 1 .. R - 1) {
			if
			:: net[n-1] < net[n] ->
				net[n-1] = net[n-1] ^ net[n]; net[n] = net[n-1] ^ net[n]; net[n-1] = net[n-1] ^ net[n]
			:: else
			fi
		}
	}
}

/*
 * Tokens are random, so only their being equal or different matters, and the model may name them as it likes. The
 * running incarnation of process p has the name LIVE(p). When it ends, its name changes to DEAD(p) wherever a renewal or
 * release of it is still under way, and its requests for a grant become NOBODY's: nobody listens to their answers any
 * more. So a process may restart any number of times. (With a stable identity as the owner, the name never changes.)
 */
#define LIVE(p)  (1 + (p))
#define DEAD(p)  (3 + (p))
#define NOBODY   7
#define OWNER(m)     ((TOKEN(m) - 1) & 1)               /* whose token it is, LIVE or DEAD */
#define NAMES(t, p)  ((t) == LIVE(p) || (t) == DEAD(p))

#ifdef RESUME                   /* a file says that the slot's grant is that of a dead incarnation */
#define ON_FILE(t)  (file[((t) - 1) & 1] && gen[((t) - 1) & 1] == CURRENT)
#else
#define ON_FILE(t)  false
#endif

/* What can have no effect any more is forgotten, which saves states. */
inline tidy() {
	for (k : 0 .. R - 1) {
		if
		:: net[k] != 0 && STALE(net[k]) -> net[k] = 0
		:: else
		fi
	}
	sortNet();
	for (k : 1 .. R - 1) {                                  /* two alike are one */
		if
		:: net[k] == net[k-1] -> net[k] = 0
		:: else
		fi
	}
	sortNet();
	if
	:: s_tok >= DEAD(0) && s_tok != NOBODY && !ON_FILE(s_tok) &&
	   !IN_NET(TOKEN(net[0]) == s_tok, TOKEN(net[1]) == s_tok, TOKEN(net[2]) == s_tok) ||
	   s_tok == NOBODY -> s_tok = 0
	:: else
	fi;
	if
	:: s_tok == 0 -> s_nb = 0
	:: else
	fi
}

/* A message that is there already is not put again: it stays when it is executed, so one copy is as good as two. */
inline send(m) {
	if
	:: STALE(m)
	:: else ->
		if
		:: IN_NET(net[0] == (m), net[1] == (m), net[2] == (m))
		:: else -> net[R-1] = m; sortNet()
		fi
	fi
}

inline rename(p) {
#ifndef M_IDENTITY	/* the owner is named by a stable identity (host or pod name), not by a random token */
	for (k : 0 .. R - 1) {
		if
		:: net[k] == 0 || TOKEN(net[k]) != LIVE(p)
		:: else ->
			if
			:: KIND(net[k]) == ACQ -> net[k] = net[k] - LIVE(p) + NOBODY
			:: else -> net[k] = net[k] - LIVE(p) + DEAD(p)
			fi
		fi
	}
	if
	:: s_tok == LIVE(p) -> s_tok = DEAD(p)
	:: else
	fi;
	tidy()
#else
	skip
#endif
}

/* The end of an incarnation: a crash, a Close, or a renewal that was answered "Lost" (the gate is closed, and the next
 * acquire has a new token). For the protocol these are one: nothing of the incarnation goes on but its messages. */
inline end(p) {
	if
	:: seen != 0 && by == p -> by = GONE
	:: else
	fi;
	st[p] = IDLE; tok[p] = 0; reply[p] = 0; last[p] = 0;
#ifndef M_RESUME
	gen[p] = OLD; na[p] = 0; spent[p] = 0; plo[p] = 0; phi[p] = 0;
#endif
#ifdef RESUME
	file[p] = 0;
#endif
	rename(p)
}

/* A crash of an incarnation that keeps a file. The mark is the last tick stamped, which counts as used up. */
inline crash(p) {
	if
	:: seen != 0 && by == p -> by = GONE
	:: else
	fi;
	st[p] = IDLE; tok[p] = 0; reply[p] = 0; spent[p] = 1; file[p] = 1;
	rename(p)
}

/* The first tick that may be stamped: the word that holds tick and sequence never goes back (S2). */
#define FIRST(p)  MAX(1, last[p] + spent[p])
#ifdef M_INCLUSIVE              /* the lower bound is taken to be inside the window */
#define START  0
#else
#define START  1
#endif

/* The end of the newest piece that was granted: a renewal carries it. */
#define NEWEST(p)  (phi[p] > 0 -> phi[p] : na[p])

#ifdef RESUME                   /* the answer to a Resume has arrived */
#define CONFIRMED(p)  file[p] = 0
#else
#define CONFIRMED(p)  skip
#endif

proctype holder(byte p)
{
	byte v, own;
	do
	:: d_step { st[p] == IDLE && !PENDING(p) -> tok[p] = LIVE(p); st[p] = WAIT;
#ifdef M_RESUME	/* a restart goes on with the window that it remembers */
		if
		:: na[p] > nb[p] -> last[p] = nb[p]; spent[p] = 1; st[p] = HELD
		:: else
		fi
#endif
		}
#ifdef M_CLONE	/* process 1 becomes a live copy of process 0: same token, same grant, same last tick */
	:: d_step { p == 1 && st[1] == IDLE && st[0] == HELD ->
		tok[1] = tok[0]; gen[1] = gen[0]; na[1] = na[0]; last[1] = last[0]; spent[1] = spent[0]; st[1] = HELD }
#endif

#ifdef RESUME
	/* A restart that finds a file, and knows that whoever wrote it is dead, goes on above the mark, under a new token. It
	 * need not wait for the answer: nobody else has what is left of the window. (Or it leaves the file: a crash, below.) */
	:: d_step { st[p] == IDLE && file[p] -> tok[p] = LIVE(p); st[p] = HELD; CHECK_S3_ALL() }
	:: atomic { st[p] == HELD && file[p] && ROOM && NEWEST(p) <= T -> v = NEWEST(p);
		do :: v < T -> v++ :: break od;
		d_step { own = NEWEST(p); send(REQUEST(RES, tok[p], gen[p], layout[p], own, v)); v = 0; own = 0 } }
	:: d_step { st[p] == HELD -> crash(p) }
#endif

	/* Ask for a grant, and again after a time-out, with whatever the clock says. T + 1 stands for every clock past
	 * the end of the layout; S7: it is clamped. */
	:: atomic { st[p] == WAIT && ROOM -> v = 1;
		do :: v <= T -> v++ :: break od;
		d_step { v = CLAMP(v); send(REQUEST(ACQ, tok[p], OLD, layout[p], 0, v)); v = 0 } }

	:: d_step { st[p] == WAIT && RKIND(reply[p]) == GRANTED ->
		gen[p] = RGEN(reply[p]); na[p] = RHI(reply[p]);
		last[p] = RLO(reply[p]); spent[p] = START;       /* a term starts with "NotBefore fully used" */
#ifdef M_RESUME
		nb[p] = RLO(reply[p]);
#endif
		reply[p] = 0; st[p] = HELD; CHECK_S3_ALL() }

	/* Renew: carries the holder's own grant. One that asks for less than the holder has changes nothing stored, so
	 * only those that ask for more are modelled; two of them may still be executed in the wrong order. */
	:: atomic { st[p] == HELD && !PENDING(p) && ROOM && NEWEST(p) <= T -> v = NEWEST(p) + 1;
		do :: v <= T -> v++ :: break od;
		d_step { v = CLAMP(v); own = NEWEST(p); send(REQUEST(REN, tok[p], gen[p], layout[p], own, v));
#ifdef M_EARLY	/* the window is used when it is asked for, not when it is stored */
			na[p] = MAX(na[p], v); CHECK_S3_ALL();
#endif
			v = 0; own = 0 } }

	:: d_step { st[p] == HELD && RKIND(reply[p]) == EXTENDED ->
		if
		:: phi[p] > 0 -> phi[p] = MAX(phi[p], RHI(reply[p]))
		:: else -> na[p] = MAX(na[p], RHI(reply[p]))
		fi;
#ifdef M_RESUMENB	/* a resumed window begins where the answer says that it begins, not above the mark */
		if
		:: file[p] -> last[p] = RLO(reply[p]); spent[p] = START
		:: else
		fi;
#endif
		CONFIRMED(p); reply[p] = 0; CHECK_S3_ALL() }

	/* A piece across a floor is a new term, and the gap between them belongs to nobody. The keeper holds the piece
	 * back, renews it meanwhile, and swaps to it when the old window has ended; here: at any moment. */
	:: d_step { st[p] == HELD && RKIND(reply[p]) == PIECE && (phi[p] == 0 || plo[p] == RLO(reply[p])) ->
#ifdef M_JOIN	/* the holder takes a piece for a longer window, and uses the gap too */
		na[p] = RHI(reply[p]);
#else
		plo[p] = RLO(reply[p]); phi[p] = MAX(phi[p], RHI(reply[p]));
#endif
		CONFIRMED(p); reply[p] = 0; CHECK_S3_ALL() }
	:: d_step { st[p] == HELD && phi[p] > 0 ->
		spent[p] = (plo[p] >= last[p] -> START : spent[p]); last[p] = MAX(last[p], plo[p]); na[p] = phi[p];
		plo[p] = 0; phi[p] = 0; CHECK_S3_ALL() }

	/* Stamp any tick that the guard S2 permits, and perhaps pick this stamp as the witness. */
	:: atomic { st[p] == HELD && FIRST(p) <= na[p] -> v = FIRST(p);
		do :: v < na[p] -> v++ :: break od;
		CHECK_S7(v >= 1 && v <= T);
		CHECK_S1(seen != BLOCK(p, v) || by == p);
		last[p] = v; spent[p] = 0;
		if
		:: seen == 0 -> seen = BLOCK(p, v); seenTick = v; by = p
		:: true
		fi;
		v = 0 }

	/* Release. The gate is closed first; closing returns the last tick, and the request carries it. */
	:: d_step { st[p] == HELD && !PENDING(p) && ROOM -> send(REQUEST(REL, tok[p], gen[p], layout[p], 0, last[p]));
#ifdef M_GIVENBACK	/* the file is not marked as given back before the release is sent */
		crash(p)
#elif !defined(M_NOCLOSE)	/* the last tick is read while the gate stays open */
		end(p)
#endif
		}

	:: d_step { st[p] != IDLE || PENDING(p) -> end(p) }
	od
}

/* ---- The coordinator: each request is one atomic step. ---- */

#ifdef M_NOMAX                  /* stored NotAfter = what the last renewal wanted */
#define STORE(want)  s_na = want
#else
#define STORE(want)  s_na = MAX(s_na, want)
#endif

/* An answer arrives only if the incarnation that asked still runs, in the state to take it, and nothing else is on its
 * way to it. One that would change nothing is not sent. */
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
#ifndef M_NOLAYOUT
	:: LAYOUT(m) != 0                                       /* S8: refused, in the same step */
#endif
#ifndef M_IDENTITY
	:: s_lease && s_tok == TOKEN(m) ->                      /* the same attempt again: the same grant */
		lo = MAX(s_nb, floor); hi = MAX(s_na, lo);
		answer(m, WAIT, REPLY(GRANTED, CURRENT, lo, hi))
	:: s_lease && s_tok != TOKEN(m)                         /* somebody else holds it */
#else
	:: s_lease && s_tok != TOKEN(m)                         /* an identity may take over from itself */
#endif
	:: else ->
		old = s_na;
		s_tok = TOKEN(m); s_lease = 1;
		for (k : 0 .. 1) {                              /* the generation goes up */
			gen[k] = OLD;
			if
			:: reply[k] != 0 -> reply[k] = reply[k] & ~(CURRENT << 6)
			:: else
			fi
		}
		for (k : 0 .. R - 1) {
			net[k] = net[k] & ~(CURRENT << 10)
		}
#ifdef M_NBCLOCK	/* NotBefore is what the clock says */
		s_nb = WANT(m) - 1;
#else
		s_nb = MAX(s_na, floor);
#endif
		s_na = MAX(s_na, WANT(m));
		CHECK_S4(s_nb >= old && s_nb >= floor && s_na >= old);
		CHECK_S8(LAYOUT(m) == 0);
		hi = MAX(s_na, s_nb);                           /* may be empty: then a later renewal opens it */
		answer(m, WAIT, REPLY(GRANTED, CURRENT, s_nb, hi))
	fi
}

/* Has the floor passed the window? This is asked about the window in the HOLDER'S grant, because that is the window
 * which the answer "extended" makes longer. The stored NotAfter may be that of a piece whose reply was lost. And the
 * stored NotBefore counts like the floor: quarantine.pml shows what happens otherwise. */
#ifdef M_STOREDNA
#define PASSED(m)  (MAX(floor, s_nb) > MAX(s_na, HNA(m)))
#else
#define PASSED(m)  (MAX(floor, s_nb) > HNA(m))
#endif

inline renew(m) {
	if
	:: !MINE(m)                                             /* Lost: see end() */
	:: else ->
		old = s_na;
		s_lease = 1;                                    /* resume: perhaps only the lease had expired */
		if
#if !defined(M_EXEMPT) && !defined(M_INPLACE)
		:: PASSED(m) ->
			s_nb = MAX(s_nb, floor); STORE(WANT(m)); hi = MAX(s_na, s_nb);
			CHECK_S5(s_nb >= floor && s_na >= old);
			if
			:: hi > s_nb -> answer(m, HELD, REPLY(PIECE, 0, s_nb, hi))
			:: else
			fi
#endif
#ifdef M_INPLACE	/* across a floor the window grows in place, gap included */
		:: PASSED(m) && WANT(m) <= floor
#endif
		:: else ->	/* M_EXEMPT: always, as if renewals had nothing to do with the floor */
			STORE(WANT(m));
			CHECK_S5(s_na >= old && (s_na <= HNA(m) || HNA(m) >= floor));
#ifdef M_RESUMENB
			answer(m, HELD, REPLY(EXTENDED, 0, s_nb, s_na))
#else
			answer(m, HELD, REPLY(EXTENDED, 0, 0, s_na))
#endif
		fi
	fi
}

#ifdef RESUME
/* A renewal that also stores another token and the next generation. Whatever names the old ones is refused from then on.
 * Executed again, it is a renewal. */
inline resume(m) {
	if
	:: !MINE(m) || s_tok == TOKEN(m)
	:: else ->
		s_tok = TOKEN(m);
		for (k : 0 .. 1) {
			if
			:: k == OWNER(m) && file[k]                     /* the new token is on file as well */
			:: else -> gen[k] = OLD
			fi
		}
		for (k : 0 .. R - 1) {
			if
			:: KIND(net[k]) == RES && TOKEN(net[k]) == TOKEN(m)
			:: else -> net[k] = net[k] & ~(CURRENT << 10)
			fi
		}
	fi;
	renew(m)
}
#endif

inline release(m) {
	if
	:: !MINE(m)
	:: else ->
		/* Not below the stored NotBefore: see TRIMLOW in quarantine.pml. */
		s_na = MIN(s_na, MAX(WANT(m), s_nb)); s_tok = 0; s_lease = 0;
		CHECK_S6(seen == 0 || seenTick <= s_na)
	fi
}

proctype coordinator()
{
	byte i, old, lo, hi;
	do
	:: atomic { net[0] != 0 -> i = 0;
		do :: i < R - 1 && net[i+1] != 0 -> i++ :: break od;
		d_step {
			if
			:: KIND(net[i]) == ACQ -> acquire(net[i])
			:: KIND(net[i]) == REN -> renew(net[i])
			:: KIND(net[i]) == REL -> release(net[i])
#ifdef RESUME
			:: KIND(net[i]) == RES -> resume(net[i])
#endif
			fi;
			CHECK_S3_ALL();
			tidy();                                /* the request stays: it may be executed again */
			i = 0; old = 0; lo = 0; hi = 0 } }

	:: d_step { s_lease -> s_lease = 0;
#ifdef M_TTLKEY	/* the window is stored in the key that expires */
		s_na = 0; s_nb = 0
#endif
		}

	:: d_step { floor < FLOORMAX -> floor++ }               /* somebody declares a quarantine */
	od
}

proctype network()
{
	byte i;
	do
	:: atomic { net[0] != 0 -> i = 0;
		do :: i < R - 1 && net[i+1] != 0 -> i++ :: break od;
		d_step { net[i] = 0; sortNet(); i = 0 } }
	:: d_step { reply[0] != 0 -> reply[0] = 0 }
	:: d_step { reply[1] != 0 -> reply[1] = 0 }
	od
}

init {
	atomic {
		if :: layout[1] = 0 :: layout[1] = 1 fi;
		run holder(0); run holder(1); run coordinator(); run network()
	}
}
