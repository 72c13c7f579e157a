/*
 * away.pml: a grant that survives its process, by a state file. Rules W1 to W7, a crash between any two steps. Checks S1, that
 * the ticks of whoever uses one file go up (W2), and that nobody loses a lease to a token of their own (W4).
 *
 * Two processes compete for ONE worker ID; each has a state file, or both have one (ONEFILE). A process may crash, be closed,
 * or start again at any time, with the coordinator or without. Renew, Resume and Release are messages: late, lost,
 * executed any number of times, long after their sender is gone. An answer arrives when the request is executed, or not at all.
 *
 * A save is one step, because a crash in the middle of it leaves the old record or the new one, whole. What comes
 * before it in memory and what comes after it on the network are steps of their own. A save that fails, as on a full disk, is no step at
 * all. One that hangs is one that is made later, or never, because nothing is stored beside it.
 *
 * Time is not modelled, as in window.pml, which is also where an Acquire is a message: here it is one step, and that of a dead process
 * which comes late is an orphan that holds the worker ID for a while. "Another worker ID" is one that is not watched.
 *
 * A mutant is one -D switch, explained beside the line that it breaks. README.md says how to run this.
 */

#ifndef T
#define T 2                     /* ticks are 1..T (at most 6) */
#endif
#ifndef R
#define R 2                     /* requests under way at once */
#endif
#ifndef K
#define K 2                     /* tokens in a file: that of its grant, and with NEWTOKENS those sent since without an answer (at most 3) */
#endif
#ifndef FLOORMAX
#define FLOORMAX T              /* the floor is raised at most to here */
#endif

#include "checks.h"
hidden byte W2_order, W4_own_token;
#if ONLY == 0
#define CHECK_W2(c)  assert(W2_order || (c))
#define CHECK_W4(c)  assert(W4_own_token || (c))
#else
#define CHECK_W2(c)  skip
#define CHECK_W4(c)  skip
#endif

#define MAX(a, b)    ((a) > (b) -> (a) : (b))
#define MIN(a, b)    ((a) < (b) -> (a) : (b))

#ifdef ONEFILE
#define FILE(p)  0
#else
#define FILE(p)  (p)
#endif

/* ---- The coordinator's slot, and the namespace's floor. ---- */
byte s_tok, s_nb, s_na;         /* s_tok 0: nobody, or an orphan */
bit  s_lease;
byte floor;

/*
 * A token is named by the file that it belongs to and its place in the file's list, so that names do not multiply the states.
 * When an answer has come, the list becomes one token, and gets its first place. A token of a fresh acquisition is FRESH until it is
 * in the file.
 */
#define UNFILED 3               /* in mutants: it was sent, and is not in the file */
#define FRESH   4
#define TK(f, place)  (1 + 5 * (f) + (place))
#define OF(t, f)      ((t) >= TK(f, 0) && (t) <= TK(f, FRESH))

/* ---- The state files: what is on the disk. ---- */
bit  f_there[2];                /* it names a grant */
bit  f_given[2];                /* the line "given back" */
byte f_mark[2];                 /* no tick above it was stamped; if given back: the last one that was */
byte f_na[2];                   /* the end of the window */
byte f_plo[2], f_phi[2];        /* a further piece (lo, hi], an entry of its own; hi 0: none */
byte f_n[2];                    /* how many tokens */
byte f_odd[2];                  /* what is wrong with it, see REFUSED */
#ifdef M_RESTARTNB
byte f_nb[2];
#endif
#define COPIED    1             /* device, inode or machine ID of the record are another file's */
#define REBOOTED  2             /* the boot ID is another one */
#define STRANGE   3             /* the URL names another namespace than the file */
#define RELAID    4             /* the layout is another one */
#define REMADE    5             /* the nonce is another one: the namespace was made anew */
#define SUBSTITUTED 6           /* in "not guaranteed": nothing shows */
#ifdef M_COPY
#define USED_COPY(o)      ((o) == COPIED)
#else
#define USED_COPY(o)      false
#endif
#ifdef M_BOOT
#define USED_BOOT(o)      ((o) == REBOOTED)
#else
#define USED_BOOT(o)      false
#endif
#ifdef M_NAMESPACE
#define USED_SPACE(o)     ((o) == STRANGE)
#else
#define USED_SPACE(o)     false
#endif
#ifdef M_LAYOUT
#define USED_LAYOUT(o)    ((o) == RELAID)
#else
#define USED_LAYOUT(o)    false
#endif
#ifdef M_NONCE
#define USED_NONCE(o)     ((o) == REMADE)
#else
#define USED_NONCE(o)     false
#endif
/* W5, W7: compared before any use. */
#define USED_ODD(o)  ((o) == 0 || (o) == SUBSTITUTED || USED_COPY(o) || USED_BOOT(o) || USED_SPACE(o) || USED_LAYOUT(o) || USED_NONCE(o))
#define REFUSED(f)   (!USED_ODD(f_odd[f]))

/* ---- The processes. ---- */
#define OFF    0
#define WAIT   1                /* wants a fresh grant */
#define GOT    2                /* has one that is not in the file yet */
#define HELD   3                /* goes by the file */
#define GIVING 4                /* the gate is closed; gives the grant back */
byte st[2], last[2], na[2], plo[2], phi[2];
byte phase[2];                  /* of the token in use: */
#define NOTOKEN   0             /* none since the start */
#define FILED     1             /* in the file, and perhaps sent */
#define ANSWERED  2
#define OWN       3             /* answered, and the file has no other */
byte tries[2];                  /* how many of the file's tokens a Resume was refused with */
byte hung[2];                   /* in a mutant, the mark in a save that hangs; 0: none */
#if defined(M_OVERTAKEN) || defined(M_PARKOPEN) || defined(M_MARKLATE)
byte lim[2];                    /* the mark that the process goes by */
#define LIM(p)        lim[p]
#define SET_LIM(p, v) lim[p] = v
#else
#define LIM(p)        f_mark[FILE(p)]
#define SET_LIM(p, v) skip
#endif
bit layout[2];

#ifdef M_TOKENLATE              /* a new token is sent before it is in the file */
#define CUR(p)  (phase[p] == OWN -> 0 : f_n[FILE(p)])
#else
#define CUR(p)  (f_n[FILE(p)] - 1)
#endif

/* ---- Requests, in a sorted buffer. ---- */
#define REN 1
#define REL 2
#define RES 3
#define REQUEST(kind, f, from, to, x, y)  (((kind) << 13) | ((f) << 12) | ((from) << 9) | ((to) << 6) | ((x) << 3) | (y))
#define KIND(m)   ((m) >> 13)
#define FOF(m)   (((m) >> 12) & 1)
#define FROM(m)  (((m) >> 9) & 7)
#define TO(m)    (((m) >> 6) & 7)
#define HNA(m)   (((m) >> 3) & 7)       /* Renew, Resume: the NotAfter of the sender's own grant */
#define WANT(m)   ((m) & 7)             /* Renew, Resume: the NotAfter asked for; Release: the last tick stamped */
short net[R];
#define ROOM  (net[R-1] == 0)

/* ---- Ghosts: the witness, as in window.pml, and the last tick stamped through each file. ---- */
byte seen, by;
#define GONE 2
#ifdef ORDER
byte top[2];
#endif
#define BLOCK(p, t)  (1 + (t) - layout[p])

hidden byte i, j, x;
hidden short q;

inline sortNet() {
	for (i : 1 .. R - 1) {
		for (j : 1 .. R - 1) {
			if
			:: net[j-1] < net[j] -> q = net[j-1]; net[j-1] = net[j]; net[j] = q
			:: else
			fi
		}
	}
}

/* What can have no effect any more is forgotten: the slot's token never comes back to a file that has lost it. */
inline tidy() {
	for (i : 0 .. R - 1) {
		if
		:: net[i] != 0 && !OF(s_tok, FOF(net[i])) -> net[i] = 0
		:: else
		fi
	}
	sortNet();
	for (i : 1 .. R - 1) {
		if
		:: net[i] == net[i-1] -> net[i] = 0
		:: else
		fi
	}
	sortNet();
	if
	:: s_tok == 0 -> s_nb = 0
	:: else
	fi
}

inline send(m) {
	net[R-1] = m;
	tidy()
}

/* A token of file f gets another place. */
inline rename(f, from, to) {
	if
	:: s_tok == TK(f, from) -> s_tok = TK(f, to)
	:: else
	fi;
	for (i : 0 .. R - 1) {
		if
		:: (net[i] != 0 && FOF(net[i]) == f) ->
			if
			:: FROM(net[i]) == from -> net[i] = (net[i] & ~(7 << 9)) | ((to) << 9)
			:: else
			fi;
			if
			:: KIND(net[i]) == RES && TO(net[i]) == from -> net[i] = (net[i] & ~(7 << 6)) | ((to) << 6)
			:: else
			fi
		:: else
		fi
	}
}

/* The answer to a Resume is in the file: the new token is the only one. One that was sent is a renewal from now on. */
inline confirm(p) {
	x = CUR(p);
	for (i : 0 .. R - 1) {
		if
		:: net[i] == 0 || FOF(net[i]) != FILE(p)
		:: else ->
			if
			:: KIND(net[i]) == RES && TO(net[i]) == x -> net[i] = REQUEST(REN, FILE(p), 0, 0, HNA(net[i]), WANT(net[i]))
			:: KIND(net[i]) != RES && FROM(net[i]) == x -> net[i] = net[i] & ~(7 << 9)
			:: else -> net[i] = 0
			fi
		fi
	}
	if
	:: s_tok == TK(FILE(p), x) -> s_tok = TK(FILE(p), 0)
	:: else
	fi;
	f_n[FILE(p)] = 1; phase[p] = OWN; x = 0; tidy()
}

/* The whole record is stored, with the mark m. */
inline save(p, m) {
	f_mark[FILE(p)] = m; f_na[FILE(p)] = na[p]; f_plo[FILE(p)] = plo[p]; f_phi[FILE(p)] = phi[p];
#ifdef M_HULL                   /* one entry from the beginning of the first piece to the end of the last */
	if
	:: phi[p] > 0 -> f_na[FILE(p)] = phi[p]; f_plo[FILE(p)] = 0; f_phi[FILE(p)] = 0
	:: else
	fi;
#endif
	if
	:: phase[p] == ANSWERED -> confirm(p)
	:: else
	fi
}

inline forget(f) {
	f_there[f] = 0; f_given[f] = 0; f_mark[f] = 0; f_na[f] = 0; f_plo[f] = 0; f_phi[f] = 0; f_n[f] = 0; f_odd[f] = 0
}

/* The end of a process, in order or not. */
inline end(p) {
	if
	:: by == p && seen != 0 -> by = GONE
	:: else
	fi;
	if
	:: st[p] == GOT && s_tok == TK(FILE(p), FRESH) -> s_tok = 0
	:: else
	fi;
#ifdef M_TOKENLATE
	if
	:: phase[p] == FILED || phase[p] == ANSWERED -> rename(FILE(p), f_n[FILE(p)], UNFILED)
	:: else
	fi;
#endif
#ifdef PLAIN                    /* process 1 has no file: nothing outlives it but its requests */
	if
	:: p == 1 -> forget(1)
	:: else
	fi;
#endif
	st[p] = OFF; reset(p); tidy()
}
inline reset(p) {
	last[p] = 0; na[p] = 0; plo[p] = 0; phi[p] = 0; phase[p] = NOTOKEN; tries[p] = 0; hung[p] = 0;
	SET_LIM(p, 0)
}

#if defined(M_NOLOCK)           /* W1: nobody looks whether the file is in use */
#define LOCKED(p)  false
#elif defined(M_LOCKFILE)       /* the lock is a file beside it, which is removed */
bit removed;
#define LOCKED(p)  (!removed && st[1-(p)] != OFF)
#elif defined(ONEFILE)
#define LOCKED(p)  (st[1-(p)] != OFF)
#else
#define LOCKED(p)  false
#endif

#ifdef M_NEWESTFIRST            /* the newest token is tried first, and the slot may go on from an older one to it meanwhile */
#define TRIED(p)  (f_n[FILE(p)] - 2 - tries[p])
#else
#define TRIED(p)  tries[p]
#endif
#ifdef M_TOKENLATE
#define LASTTRY(p)  f_n[FILE(p)]
#else
#define LASTTRY(p)  (f_n[FILE(p)] - 1)
#endif

inline given(p) {
	f_given[FILE(p)] = 1; f_mark[FILE(p)] = last[p]; f_na[FILE(p)] = 0; f_plo[FILE(p)] = 0; f_phi[FILE(p)] = 0;
	if
	:: phase[p] == ANSWERED -> confirm(p)
	:: else
	fi;
	phase[p] = NOTOKEN; tries[p] = 0; hung[p] = 0;
#ifndef M_UNDEAD
	na[p] = 0; plo[p] = 0; phi[p] = 0
#endif
}

inline stamp(p) {
	CHECK_S1(seen != BLOCK(p, v) || by == p);
#ifdef ORDER
	CHECK_W2(v > top[FILE(p)]);
	top[FILE(p)] = v;
#endif
	last[p] = v;
	if
	:: seen == 0 -> seen = BLOCK(p, v); by = p
	:: true
	fi;
	v = 0
}

#define NEWEST(p)  (phi[p] > 0 -> phi[p] : na[p])

proctype process(byte p)
{
	byte v, own;
	do
	/* ---- A start. ---- */
	:: d_step { st[p] == OFF && !LOCKED(p) && f_there[FILE(p)] && !f_given[FILE(p)] && !REFUSED(FILE(p)) ->
		st[p] = HELD; na[p] = f_na[FILE(p)]; plo[p] = f_plo[FILE(p)]; phi[p] = f_phi[FILE(p)];
#ifdef M_RESTARTNB              /* the window begins at the stored NotBefore, not above the mark */
		last[p] = f_nb[FILE(p)];
#else
		last[p] = f_mark[FILE(p)];
#endif
		SET_LIM(p, f_mark[FILE(p)]) }
	:: d_step { st[p] == OFF && !LOCKED(p) && f_given[FILE(p)] && !REFUSED(FILE(p)) -> st[p] = GIVING; last[p] = f_mark[FILE(p)] }
	:: d_step { st[p] == OFF && !LOCKED(p) && (!f_there[FILE(p)] || f_given[FILE(p)] || REFUSED(FILE(p))) -> st[p] = WAIT }

	/* ---- A fresh grant; it is in the file before it is used. ---- */
	:: atomic { st[p] == WAIT && !s_lease && layout[p] == 0 -> v = 0;
		do :: v < T -> v++ :: break od;
		d_step { s_nb = MAX(s_na, floor); s_na = MAX(s_na, v); s_tok = TK(FILE(p), FRESH); s_lease = 1;
			last[p] = s_nb; na[p] = MAX(s_na, s_nb); st[p] = GOT; tidy(); v = 0 } }
	:: d_step { st[p] == GOT ->
		f_there[FILE(p)] = 1; f_given[FILE(p)] = 0; f_odd[FILE(p)] = 0; f_n[FILE(p)] = 1;
#ifdef M_RESTARTNB
		f_nb[FILE(p)] = last[p];
#endif
		for (i : 0 .. R - 1) {
			if
			:: FOF(net[i]) == FILE(p) -> net[i] = 0
			:: else
			fi
		}
		rename(FILE(p), FRESH, 0); st[p] = HELD; phase[p] = OWN; save(p, last[p]); tidy();
		SET_LIM(p, last[p]) }
#ifdef M_TORN                   /* W1: a crash in the middle of a save leaves some of the old record: its mark */
	:: d_step { st[p] == GOT && f_given[FILE(p)] ->
		f_given[FILE(p)] = 0; f_n[FILE(p)] = 1; f_na[FILE(p)] = na[p];
		for (i : 0 .. R - 1) {
			if
			:: FOF(net[i]) == FILE(p) -> net[i] = 0
			:: else
			fi
		}
		rename(FILE(p), FRESH, 0); end(p) }
#endif

	/* ---- W2: the mark is stored, and then passed. ---- */
	:: atomic { st[p] == HELD && MAX(f_mark[FILE(p)], last[p]) <= na[p] -> v = MAX(f_mark[FILE(p)], last[p]);
		do :: v < na[p] -> v++ :: break od;
		d_step { save(p, v);
			SET_LIM(p, v); v = 0 } }
#ifdef M_MARKLATE               /* a tick above the mark is stamped, and the mark is stored behind it */
	:: d_step { st[p] == HELD && lim[p] < na[p] -> lim[p] = na[p] }
#endif
	:: atomic { st[p] == HELD && last[p] < MIN(LIM(p), na[p]) -> v = last[p] + 1;
		do :: v < MIN(LIM(p), na[p]) -> v++ :: break od;
		stamp(p) }
	:: d_step { st[p] == HELD && phi[p] > 0 ->
		last[p] = MAX(last[p], plo[p]); na[p] = phi[p]; plo[p] = 0; phi[p] = 0 }

	/*
	 * ---- W4: a new token, in the file before it is sent. One that was perhaps sent before, and has no answer, is sent again, by whoever
	 * goes on with the file, so that there is one at most. NEWTOKENS: each start draws another one, and tries it from each that the file has. ----
	 */
#ifdef M_FORGETTOKEN            /* another token takes the place of one that was sent without an answer */
	:: d_step { st[p] == HELD && phase[p] == NOTOKEN && f_n[FILE(p)] == 2 -> rename(FILE(p), 1, UNFILED); phase[p] = FILED }
	:: d_step { st[p] == HELD && phase[p] == NOTOKEN && f_n[FILE(p)] == 1 -> f_n[FILE(p)]++; phase[p] = FILED }
#elif defined(M_TOKENLATE)
	:: d_step { st[p] == HELD && phase[p] == NOTOKEN && f_n[FILE(p)] < K -> phase[p] = FILED }
#elif defined(M_REACQUIRE)      /* Acquire with the old token: the stored grant is returned, from its NotBefore */
	:: d_step { st[p] == HELD && phase[p] == NOTOKEN && s_lease && s_tok == TK(FILE(p), 0) ->
		last[p] = MAX(s_nb, floor); na[p] = MAX(s_na, last[p]); plo[p] = 0; phi[p] = 0; phase[p] = OWN }
#elif defined(NEWTOKENS)
	:: d_step { st[p] == HELD && phase[p] == NOTOKEN && f_n[FILE(p)] < K && f_n[FILE(p)] > 0 -> f_n[FILE(p)]++; phase[p] = FILED }
#else
	:: d_step { st[p] == HELD && phase[p] == NOTOKEN && f_n[FILE(p)] > 0 -> f_n[FILE(p)] = 2; phase[p] = FILED }
#endif
#ifdef M_TAKETRIM               /* whoever takes over stores the window that it wants next, which may end earlier */
	:: atomic { st[p] == HELD && phase[p] == FILED && ROOM && NEWEST(p) <= T -> v = last[p];
#else
	:: atomic { st[p] == HELD && phase[p] == FILED && ROOM && NEWEST(p) <= T -> v = NEWEST(p);
#endif
		do :: v < T -> v++ :: break od;
		d_step { own = NEWEST(p);
			send(REQUEST(RES, FILE(p), TRIED(p), CUR(p), own, v));
			v = 0; own = 0 } }
	/* Refused with all of them: the lease is lost. */
	:: d_step { st[p] == HELD && phase[p] == FILED && tries[p] == LASTTRY(p) ->
		CHECK_W4(!OF(s_tok, FILE(p)));
		if
		:: by == p && seen != 0 -> by = GONE
		:: else
		fi;
		forget(FILE(p)); reset(p); st[p] = WAIT; tidy() }

	:: atomic { st[p] == HELD && phase[p] >= ANSWERED && ROOM && NEWEST(p) < T -> v = NEWEST(p) + 1;
		do :: v < T -> v++ :: break od;
		d_step { own = NEWEST(p); send(REQUEST(REN, FILE(p), CUR(p), 0, own, v)); v = 0; own = 0 } }

	/* ---- W3: given back, by Close, by heal, by whoever calls an acquisition off: the line is stored, then a Release is sent. ---- */
	:: d_step { st[p] == HELD && f_there[FILE(p)] ->
		st[p] = GIVING;
#ifdef M_GIVENLATE              /* the line is stored behind the first Release */
		f_mark[FILE(p)] = f_mark[FILE(p)]
#elif defined(M_UNDO)           /* an acquisition that is called off is undone without the line */
		if
		:: phase[p] == OWN && last[p] == f_mark[FILE(p)]
		:: else -> given(p)
		fi
#else
		given(p)
#endif
		}
	:: d_step { st[p] == GIVING && ROOM && f_n[FILE(p)] > 0 -> send(REQUEST(REL, FILE(p), 0, 0, 0, last[p])) }
	:: d_step { st[p] == GIVING && ROOM && f_n[FILE(p)] > 1 -> send(REQUEST(REL, FILE(p), 1, 0, 0, last[p])) }
	:: d_step { st[p] == GIVING && ROOM && f_n[FILE(p)] > 2 -> send(REQUEST(REL, FILE(p), 2, 0, 0, last[p])) }
#ifdef M_UNDEAD                 /* the answer to the Release is an error, and the grant is used again */
	:: d_step { st[p] == GIVING && na[p] > 0 -> f_given[FILE(p)] = 0; st[p] = HELD; save(p, last[p]) }
#endif
	:: d_step { st[p] == GIVING ->
#ifdef M_GIVENLATE
		given(p);
#endif
		end(p); st[p] = WAIT }

	/* Park: the last tick becomes the mark, and nothing is sent. */
	:: d_step { st[p] == HELD && f_there[FILE(p)] && last[p] <= na[p] -> save(p, last[p]);
#ifndef M_PARKOPEN              /* the last tick is read while the gate is open */
		end(p)
#endif
		}

	/* ---- W6: a save that hangs is one that is stored later, or never: nothing else is stored meanwhile. ---- */
#ifdef M_OVERTAKEN              /* W2: another save is begun, which this one overtakes in the end */
	:: atomic { st[p] == HELD && hung[p] == 0 && MAX(f_mark[FILE(p)], last[p]) < na[p] -> v = MAX(f_mark[FILE(p)], last[p]) + 1;
		do :: v < na[p] -> v++ :: break od;
		d_step { hung[p] = v; v = 0 } }
	:: d_step { hung[p] > 0 -> f_mark[FILE(p)] = hung[p]; hung[p] = 0 }
#endif

	:: d_step { st[p] != OFF -> end(p) }                    /* a crash; a kill; the end after a Close */
	od
}

/* ---- The coordinator executes a request, and the answer reaches the process that waits for it, or does not. ---- */
#define PASSED(m)  (MAX(floor, s_nb) > HNA(m))

inline renew(m) {
	s_lease = 1;
	if
	:: PASSED(m) ->
		s_nb = MAX(s_nb, floor); s_na = MAX(s_na, WANT(m));
		if
		:: c < 2 && s_na > s_nb && (phi[c] == 0 || plo[c] == s_nb) ->
			plo[c] = s_nb; phi[c] = MAX(phi[c], s_na); answered(c)
		:: else
		fi
	:: else ->
		s_na = MAX(s_na, WANT(m));
		if
		:: c < 2 ->
			if
			:: phi[c] > 0 -> phi[c] = MAX(phi[c], s_na)
			:: else -> na[c] = MAX(na[c], s_na)
			fi;
			answered(c)
		:: else
		fi
	fi
}
inline answered(p) {
	if
	:: phase[p] == FILED -> phase[p] = ANSWERED; tries[p] = 0
	:: else
	fi
}

inline execute(m) {
	if
	:: KIND(m) == REN && s_tok == TK(FOF(m), FROM(m)) -> renew(m)
	:: KIND(m) == REL && s_tok == TK(FOF(m), FROM(m)) -> s_na = MIN(s_na, MAX(WANT(m), s_nb)); s_tok = 0; s_lease = 0
	:: KIND(m) == RES && (s_tok == TK(FOF(m), FROM(m)) || s_tok == TK(FOF(m), TO(m))) ->
#ifdef M_TAKETRIM
		s_na = MAX(s_nb, WANT(m));
#endif
		s_tok = TK(FOF(m), TO(m)); renew(m)
	:: KIND(m) == RES && s_tok != TK(FOF(m), FROM(m)) && s_tok != TK(FOF(m), TO(m)) && c < 2 -> tries[c]++
	:: else
	fi
}

/* Process p waits for the answer to m. */
#define ASKED(p, m)  (st[p] == HELD && FILE(p) == FOF(m) && \
	(KIND(m) == REN && phase[p] >= ANSWERED && FROM(m) == CUR(p) || \
	 KIND(m) == RES && phase[p] >= FILED && TO(m) == CUR(p) && FROM(m) == TRIED(p)))

proctype coordinator()
{
	byte k, c;
	do
	:: atomic { net[0] != 0 -> k = 0; c = GONE;
		do :: k < R - 1 && net[k+1] != 0 -> k++ :: break od;
		if
		:: ASKED(0, net[k]) -> c = 0
		:: ASKED(1, net[k]) -> c = 1
		:: true
		fi;
		d_step { execute(net[k]); tidy(); k = 0; c = 0 } }
	:: atomic { net[0] != 0 -> k = 0;
		do :: k < R - 1 && net[k+1] != 0 -> k++ :: break od;
		d_step { net[k] = 0; sortNet(); k = 0 } }
	:: d_step { s_lease -> s_lease = 0 }
	/* An orphan: an Acquire that comes late, whose grant nobody uses, until its lease is over. */
	:: d_step { !s_lease && s_na < T -> s_na++; s_tok = 0; tidy() }
	/* Somebody raises the floor, because of a window that was forgotten: its holder may have stamped what is below. */
	:: atomic { floor < FLOORMAX ->
		if
		:: seen == 0 && floor + 1 > s_na -> seen = 1 + floor + 1; by = GONE
		:: true
		fi;
		d_step { floor++ } }
	od
}

/* ---- What happens to files, and to what they were made for. A process that is alive notices (W1), so it is a start that sees it. ---- */
#if defined(REBOOT) || defined(REVERT)
bit b_saved, b_given;
byte b_mark, b_na, b_plo, b_phi;        /* a snapshot of file 0 */
#endif
bit remade;

/* A file that is not the one that the tokens were sent from: they are not known by their places. */
#define FOREIGN(f, what)  f_n[f] = 0; f_odd[f] = what

proctype operator()
{
	do
#ifdef COPIES                   /* file 0 is copied to where process 1 has its own */
	:: d_step { st[1] == OFF && f_there[0] && f_odd[0] == 0 ->
		f_there[1] = 1; f_given[1] = f_given[0]; f_mark[1] = f_mark[0]; f_na[1] = f_na[0]; f_plo[1] = f_plo[0]; f_phi[1] = f_phi[0];
		FOREIGN(1, COPIED) }
#endif
#if defined(REBOOT) || defined(REVERT)
	:: d_step { !b_saved && f_there[0] && f_odd[0] == 0 && seen == 0 -> b_saved = 1;
		b_given = f_given[0]; b_mark = f_mark[0]; b_na = f_na[0]; b_plo = f_plo[0]; b_phi = f_phi[0] }
	:: d_step { b_saved && b_na > 0 && st[0] == OFF ->
		f_there[0] = 1; f_given[0] = b_given; f_mark[0] = b_mark; f_na[0] = b_na; f_plo[0] = b_plo; f_phi[0] = b_phi;
		b_given = 0; b_mark = 0; b_na = 0; b_plo = 0; b_phi = 0;
#ifdef REVERT                   /* not guaranteed: the kernel goes on, so that nothing shows */
		FOREIGN(0, SUBSTITUTED) }
#else
		FOREIGN(0, REBOOTED) }
#endif
#endif
#ifdef NAMESPACES               /* the URL of process 0 names another namespace than its file, which has any window */
	:: d_step { st[0] == OFF -> forget(0); f_there[0] = 1; f_na[0] = T; FOREIGN(0, STRANGE); tidy() }
#endif
#ifdef LAYOUTS                  /* process 0 is configured with another layout */
	:: d_step { st[0] == OFF && layout[0] == 0 && f_there[0] && f_odd[0] == 0 -> layout[0] = 1; FOREIGN(0, RELAID) }
#endif
#if defined(REMAKE) || defined(KEPT)
	/* The namespace is made anew, which says that all that was granted is past. The files are kept, and a start
	 * reaches the coordinator. KEPT, not guaranteed: it does not. */
	:: d_step { !remade && st[0] == OFF && st[1] == OFF && s_na > 0 ->
		remade = 1; s_tok = 0; s_nb = 0; s_na = 0; s_lease = 0; floor = 0; seen = 0; by = 0;
		for (i : 0 .. R - 1) { net[i] = 0 }
		for (i : 0 .. 1) {
			if
#ifdef KEPT
			:: f_there[i] -> FOREIGN(i, SUBSTITUTED)
#else
			:: f_there[i] -> FOREIGN(i, REMADE)
#endif
			:: else
			fi
		} }
#endif
#ifdef M_LOCKFILE
	:: d_step { !removed -> removed = 1 }
#endif
	:: false -> skip
	od
}

init { atomic { run process(0); run process(1); run coordinator(); run operator() } }
