/*
 * loss.pml: who notices that the coordinator has lost state, by what, and what is done about it. Checks S1 for everything
 * that is granted or extended since the first request that proves a loss (S9), and L3: a loss that was dealt with stops
 * nobody again.
 *
 * quarantine.pml has the late, repeated and reordered messages, one loss, and a coordinator that knows of it. Here nobody
 * knows of it but the processes: what one has seen is its evidence, and the first request of one whose evidence does not fit
 * what is stored proves the loss. Until then windows may overlap, because nothing and nobody can tell. State is lost
 * LOSSES times; it goes back to a copy that was made at any moment, also after an earlier loss was dealt with, or to
 * what it was before the first grant. So there are two losses, several records of losses, and stragglers whose evidence is
 * of the first or the second one.
 *
 * A request takes one step: it is executed, the loss that it proves is dealt with, and the answer arrives or is lost.
 *
 *   default     evidence are numbers that only rise (revisions of etcd, the count of looks in ZooKeeper): they show every
 *               loss to whoever has seen anything later than the copy. Some are seen without the namespace's record: the
 *               number in a ping's answer. -DWHOLE: no number counts that came without the record.
 *   -DDECL=n    the namespace is declared with a horizon of n, longer than MAXH, before the first grant: every copy has it.
 *               One that was deleted, and made again by somebody else, has not.
 *   -DCARRIED   the numbers have been overtaken, for others use the cluster too. All that is left is what a request carries:
 *               token, generation and window of the caller's grant, and the nonce of the namespace that it knows.
 *
 * Time is as in quarantine.pml: `now` is what the reference says (the server's clock, or the median of live holders'),
 * and the clocks of holders are within EPS of it. The clock of a process that raises the floor may say anything.
 *
 *   -DSLOW=n    requests take up to n ticks: the reading of the server's clock by which a floor is raised is so old when the
 *               floor is stored. The process adds an allowance, and the server refuses what comes later than that.
 */

#ifndef TM
#define TM 2                    /* time runs from 0 to TM */
#endif
#ifndef EPS
#define EPS 0                   /* clock skew bound */
#endif
#ifndef MAXH
#define MAXH 1                  /* the driver's constant MaxHorizon; a request may want any shorter horizon */
#endif
#ifdef DECL                     /* the namespace is declared with a longer horizon */
#define LONGEST  DECL
#else
#define LONGEST  MAXH
#endif
#ifndef GMAX
#define GMAX 2                  /* the search ends where a generation would pass this */
#endif
#ifndef LOSSES
#define LOSSES 2
#endif
#ifdef OUTAGE                   /* a loss takes so long that no clock can take what was seen before it for later */
#define DOWN (3 * EPS + 1)
#else
#define DOWN 0
#endif

#define MAX(a, b)    ((a) > (b) -> (a) : (b))
#define MIN(a, b)    ((a) < (b) -> (a) : (b))

#include "checks.h"

hidden byte L3_settled;
#if ONLY == 0
#define CHECK_L3(c)  assert(L3_settled || (c))
#else
#define CHECK_L3(c)  skip
#endif

byte now;

/* ---- The coordinator: the slot, and the namespace's record (meta). A lease is not stored: it may have ended or not. ---- */
byte s_tok;                     /* 0: released; p + 1: the running incarnation of process p; DEAD: one that has ended */
byte s_nb, s_na;
byte floor;
byte r_floor;                   /* the floor that the record of the last loss demands; 0: there is none */
#ifdef SLOW
byte r_found, o_rfound;         /* when that loss was found, at the earliest: the reading, without the allowance */
#endif
#define DEAD 3

/* The copy to which a loss goes back. */
byte o_tok, o_nb, o_na, o_floor, o_rfloor;
byte losses;

/* ---- The processes: a grant, and a memory that outlives it. A crash takes both. ---- */
bit  held[2];
byte na[2], plo[2], phi[2];     /* phi 0: no piece is held back */
bit  knows[2];                  /* has seen the namespace */
byte seenAt[2];                 /* when the newest piece of evidence was seen, by its own clock */
bit  contra[2];                 /* what it has seen does not fit what is stored */
#define NEWEST(p)  (phi[p] > 0 -> phi[p] : na[p])

/* The random name of the record of a loss is only ever compared. */
bit  k_r[2];                    /* the record that the process has seen last is the stored one */
bit  k_o[2], r_o;               /* it is the one in the copy; the stored one is the one in the copy */

/* Generations and nonces. With numbers that only rise neither shows anything more: a token that was granted again is
 * another one. */
#ifdef CARRIED
byte s_gen, o_gen, gen[2], nonce, o_nonce, k_nonce[2];
#define MINE(p)      (s_tok == (p) + 1 && s_gen == gen[p])
#else
#define MINE(p)      (s_tok == (p) + 1)
#endif

#ifdef FOLLOWS
byte k_floor[2];
#define K_FLOOR(p)   k_floor[p]
#else
#define K_FLOOR(p)   0
#endif

/* What the namespace is declared with: what is stored, and what the process remembers, which it stores again with a floor. */
#ifdef DECL
bit s_decl, k_decl[2];
#ifdef M_UNREMEMBERED           /* what is remembered does not count */
#define REMEMBERS(p)  0
#else
#define REMEMBERS(p)  k_decl[p]
#endif
#ifdef M_OWNH                   /* floors are raised by the driver's constant, whatever is declared */
#define LONG(p)      MAXH
#else
#define LONG(p)      (s_decl || REMEMBERS(p) -> DECL : MAXH)
#endif
#define ALLOWED      (s_decl -> DECL : MAXH)
#else
#define LONG(p)      MAXH
#define ALLOWED      MAXH
#endif

/* ---- Ghosts. The witness of S1 is chosen at the start: any one tick. ---- */
byte W;
byte by;                        /* who has stamped it: process 0 or 1 in its present incarnation; one that is GONE; NOBODY yet */
#define GONE   2
#define NOBODY 3
bit  above[2];                  /* the process's window begins below the witness */
bit  moved;                     /* the state is another one than the copy */
bit  newer[2];                  /* the process has seen a state that is later than the copy */
bit  blind;                     /* state was lost, and nothing has proved it yet */
bit  proves[2];                 /* what the process has seen proves that loss */

/* A stamp counts if it lies in what was granted since the last loss was proved. Two that do not count can be equal. */
bit  early[2];                  /* the witness lies in what the process was granted before that */
bit  byNew;                     /* the stamp of the witness counts */
#define COUNTS(p)    (!blind && !early[p])
#define HAS(p)       (held[p] && above[p] && W <= na[p])

/* What a request carries proves a loss. */
#ifdef CARRIED
#define NONCE(p)     (knows[p] && k_nonce[p] != nonce)
#define HIGHER(p)    (held[p] && gen[p] > s_gen)
#define SAMEGEN(p)   (held[p] && gen[p] == s_gen && s_tok != (p) + 1 && s_tok != 0)
#define LONGER(p)    (held[p] && MINE(p) && NEWEST(p) > MAX(s_na, s_nb))
#define PROOF(p)     (NONCE(p) || HIGHER(p) || SAMEGEN(p) || LONGER(p))
#else
#define PROOF(p)     contra[p]
#endif

/* What the coordinator makes of it. */
#if defined(M_SAMEGEN)          /* one's own generation with another token is taken for a lease that somebody else has got */
#define NOTICED(p)   (NONCE(p) || HIGHER(p) || LONGER(p))
#elif defined(M_NONCE)          /* the nonces are not compared */
#define NOTICED(p)   (HIGHER(p) || SAMEGEN(p) || LONGER(p))
#elif defined(M_HIGHER)         /* a generation above the stored one is taken for a lost lease */
#define NOTICED(p)   (NONCE(p) || SAMEGEN(p) || LONGER(p))
#elif defined(M_LONGER)         /* a window that reaches further than the stored one is extended */
#define NOTICED(p)   (NONCE(p) || HIGHER(p) || SAMEGEN(p))
#else
#define NOTICED(p)   PROOF(p)
#endif

/* Does the record of a loss explain all that the process has seen? It does if it is not the one that the process knew, and
 * was made later than the process has seen anything: its floor is that of the time when it was made. */
#ifdef M_NOMARGIN               /* as if two clocks could be compared to the tick */
#define MARGIN  0
#else
#define MARGIN  (2 * EPS + 1)
#endif
#define LATER(p, f)  ((f) >= seenAt[p] + LONG(p) + EPS + MARGIN)
#if defined(SLOW) && !defined(M_BYFLOOR)
#define FOUND(p)  (r_found >= seenAt[p] + MARGIN)
#else                           /* the floor tells when the loss was found, allowance included */
#define FOUND(p)  true
#endif
#if defined(M_NOTIME)           /* the time of the evidence is not compared */
#define SETTLED(p)  (r_floor != 0 && !k_r[p])
#elif defined(M_BELOW)          /* all of one's own windows end below the floor, so nothing can happen */
#define SETTLED(p)  (!held[p] || NEWEST(p) <= floor)
#elif defined(M_ANYFLOOR)       /* the floor itself is compared, which may be an operator's */
#define SETTLED(p)  LATER(p, floor)
#elif defined(M_AGAIN)          /* every straggler raises the floor */
#define SETTLED(p)  false
#else
#define SETTLED(p)  (r_floor != 0 && !k_r[p] && LATER(p, r_floor) && FOUND(p))
#endif

/* The time that counts for a floor, if the clock of the one who raises it says c. */
#if defined(M_NOCLAMP)          /* whatever it says */
#define CLOCK(c)  (c)
#else
#define CLOCK(c)  MIN(MAX(c, now), now + EPS)
#endif

#ifdef LOWER                    /* a clock that is ahead raises the floor */
#undef CLOCK
#define CLOCK(c)  MAX(c, now)
#ifdef M_LOWERED                /* to where the clock is */
#define LOWEST  now
#else
#define LOWEST  (now + ALLOWED + EPS)
#endif
#endif

#ifdef M_FORGETS                /* the floor that the process knows is not looked at */
#define KNOWN(p)  0
#else
#define KNOWN(p)  K_FLOOR(p)
#endif

hidden byte k;
hidden byte wasBlind;

/* old: how many ticks ago the clock was read. extra: the allowance; 0 of both where requests take no time. */
inline raise(p, c, old, extra) {
#ifdef OUTAGE
	CHECK_L3(wasBlind);
#endif
	r_floor = CLOCK(c) - old + extra + LONG(p) + EPS;
#ifdef SLOW
	r_found = CLOCK(c) - old;
#endif
#ifdef DECL
	s_decl = s_decl || REMEMBERS(p);
#endif
	floor = MAX(MAX(floor, KNOWN(p)), r_floor);
	k_r[0] = 0; k_r[1] = 0; r_o = 0; moved = 1
}

/* What the process has noticed is dealt with before its request is. */
inline notice(p, c, old, extra) {
	wasBlind = blind;
	CHECK_L3(losses > 0 || !PROOF(p));                      /* no false alarm */
	if
	:: blind && proves[p] && PROOF(p) ->
		blind = 0; early[0] = (W <= NEWEST(0)); early[1] = (W <= NEWEST(1))
	:: else
	fi;
	if
	:: NOTICED(p) && !SETTLED(p) -> raise(p, c, old, extra)
	:: else
	fi;
	wasBlind = 0
}

/* The answer has arrived, and with it what is stored: that is the process's evidence from now on. */
inline learn(p, t) {
	knows[p] = 1; k_r[p] = 1; k_o[p] = r_o; seenAt[p] = t; contra[p] = 0; newer[p] = moved; proves[p] = 0;
#ifdef CARRIED
	k_nonce[p] = nonce;
#endif
#ifdef FOLLOWS
	k_floor[p] = floor;
#endif
#ifdef DECL
	k_decl[p] = s_decl;
#endif
}

inline end(p) {
	if :: by == p -> by = GONE :: else fi;
	held[p] = 0; na[p] = 0; plo[p] = 0; phi[p] = 0; above[p] = 0; early[p] = 0;
#ifdef CARRIED
	gen[p] = 0;
#endif
	if :: s_tok == p + 1 -> s_tok = DEAD :: else fi;
	if :: o_tok == p + 1 -> o_tok = DEAD :: else fi
}

/* What can have no effect any more is forgotten, which saves states. */
inline tidy() {
#ifndef CARRIED
	if :: s_tok == DEAD -> s_tok = 0 :: else fi;
	if :: o_tok == DEAD -> o_tok = 0 :: else fi;
#endif
	if :: s_tok == 0 || s_tok == DEAD -> s_nb = 0 :: else fi;
	if :: o_tok == 0 || o_tok == DEAD -> o_nb = 0 :: else fi;
	if
	:: losses == LOSSES ->
		o_tok = 0; o_nb = 0; o_na = 0; o_floor = 0; o_rfloor = 0; k_o[0] = 0; k_o[1] = 0; r_o = 0;
		newer[0] = 0; newer[1] = 0; moved = 0;
#ifdef CARRIED
		o_gen = 0; o_nonce = 0;
#endif
		for (k : 0 .. 1) {
			if :: !contra[k] -> seenAt[k] = 0; k_r[k] = 0 :: else fi
		}
#ifdef SLOW
		o_rfound = 0;
#endif
		if
		:: !contra[0] && !contra[1] ->
			r_floor = 0;
#ifdef SLOW
			r_found = 0
#endif
		:: else
		fi
	:: else
	fi;
	if :: !blind -> proves[0] = 0; proves[1] = 0 :: else fi;
	k = 0
}

/* ended: the lease of whoever the slot names is over. */
inline acquire(p, t, h, heard, ended) {
	if
	:: s_tok == p + 1 && !ended ->          /* an earlier answer was lost: the same grant again */
		if
		:: heard ->
			held[p] = 1; na[p] = MAX(MAX(s_na, s_nb), floor); above[p] = (W > MAX(s_nb, floor));
#ifdef CARRIED
			gen[p] = s_gen
#endif
		:: else
		fi
	:: s_tok != p + 1 && !ended             /* held by somebody else */
#ifdef CARRIED
	:: ended && s_gen == GMAX               /* the bound of the search */
	:: ended && s_gen < GMAX ->
		s_gen++;
#else
	:: ended ->
		if :: o_tok == p + 1 -> o_tok = DEAD :: else fi;
#endif
		s_tok = p + 1; s_nb = MAX(s_na, floor); s_na = MAX(s_na, t + h); moved = 1;
		if
		:: heard ->
			held[p] = 1; na[p] = MAX(s_na, s_nb); above[p] = (W > s_nb);
#ifdef CARRIED
			gen[p] = s_gen
#endif
		:: else
		fi
	fi;
	if :: heard -> learn(p, t) :: else fi
}

inline renew(p, t, h, heard) {
	if
	:: MINE(p) ->
		moved = 1;
		if
		:: MAX(floor, s_nb) > NEWEST(p) ->              /* a piece, which is held back */
			s_nb = MAX(floor, s_nb); s_na = MAX(s_na, t + h);
			if
			:: heard && s_na > s_nb && (phi[p] == 0 || plo[p] == s_nb) -> plo[p] = s_nb; phi[p] = s_na
			:: else
			fi
		:: else ->
			s_na = MAX(s_na, t + h);
			if
			:: heard && phi[p] > 0 -> phi[p] = MAX(phi[p], s_na)
			:: heard && phi[p] == 0 -> na[p] = MAX(na[p], s_na)
			:: else
			fi
		fi;
		if :: heard -> learn(p, t) :: else fi
	:: else ->
		if
		:: heard -> learn(p, t); end(p)
		:: else
		fi
	fi
}

/* The last tick stamped is the end of the window or the first one that the witness allows. */
inline release(p, t, whole, heard) {
	if
	:: MINE(p) ->
		s_na = MIN(s_na, MAX((whole -> na[p] : (by == p -> W : 0)), s_nb)); s_tok = 0; moved = 1
	:: else
	fi;
	if :: heard -> learn(p, t) :: else fi;
	end(p)
}

#ifdef MOVE
bit  closed, noRights;          /* another namespace follows this one; nobody may use this one any more */
byte newFloor;
#define REACHES  !noRights
#define LAST     15             /* the layout's last tick */
#else
#define REACHES  true
#endif

#define FAR  (TM + DOWN * LOSSES + 3 * EPS + 2)         /* a clock that is ahead */
#define SOME(x, low, high)  x = low; do :: x < (high) -> x++ :: break od

proctype process(byte p)
{
	byte t, h, c, old, extra;
	bit heard, flag;
	do
	:: atomic { REACHES ->
		SOME(t, MAX(now - EPS, 0), now + EPS);
		SOME(h, 1, ALLOWED);
		if :: heard = 1 :: heard = 0 fi;
		if :: flag = 1 :: flag = 0 fi;
		if :: NOTICED(p) && !SETTLED(p) ->
			if :: c = 0 :: c = now :: c = now + EPS :: c = FAR fi;
#ifdef SLOW
			SOME(old, 0, MIN(SLOW, now));
#ifdef M_LATE                   /* nothing is refused that comes later than the allowance says */
			SOME(extra, 0, SLOW)
#else
			SOME(extra, old, SLOW)
#endif
#endif
		:: else
		fi;
		if
		:: d_step { !held[p] -> notice(p, c, old, extra); acquire(p, t, h, heard, flag); tidy() }
		:: d_step { held[p] && flag -> notice(p, c, old, extra); renew(p, t, h, heard); tidy() }
		:: d_step { held[p] && h == 1 -> notice(p, c, old, extra); release(p, t, flag, heard); tidy() }
		fi;
		t = 0; h = 0; c = 0; old = 0; extra = 0; heard = 0; flag = 0 }

#if !defined(CARRIED) && !defined(WHOLE)
	/* A number is seen without the record of the namespace. */
	:: atomic { REACHES && knows[p] && !contra[p] && losses < LOSSES ->
		SOME(t, MAX(now - EPS, 0), now + EPS);
		d_step { seenAt[p] = MAX(seenAt[p], t); newer[p] = newer[p] || moved; t = 0 } }
#endif

	:: d_step { held[p] && phi[p] > 0 ->
		above[p] = (W > plo[p]); na[p] = phi[p]; plo[p] = 0; phi[p] = 0 }

	:: d_step { HAS(p) && by == NOBODY -> by = p; byNew = COUNTS(p) }
	:: d_step { HAS(p) && by != NOBODY && by != p && (byNew || COUNTS(p)) -> CHECK_S1(false) }

	/* A crash. */
	:: d_step { knows[p] || held[p] || s_tok == p + 1 ->
		end(p);
		knows[p] = 0; k_r[p] = 0; k_o[p] = 0; seenAt[p] = 0; contra[p] = 0; newer[p] = 0; proves[p] = 0;
#ifdef CARRIED
		k_nonce[p] = 0;
#endif
#ifdef FOLLOWS
		k_floor[p] = 0;
#endif
#ifdef DECL
		k_decl[p] = 0;
#endif
		tidy() }
	od
}

inline lose() {
	losses++;
#ifdef REMADE           /* the namespace was deleted, and somebody who had never seen it has made it again */
	s_tok = 0; s_nb = 0; s_na = 0; floor = 0; r_floor = 0; k_r[0] = 0; k_r[1] = 0; newer[0] = knows[0]; newer[1] = knows[1];
#ifdef CARRIED
	s_gen = 0; nonce = losses;
#endif
#ifdef DECL
	s_decl = 0;
#endif
#else
	s_tok = o_tok; s_nb = o_nb; s_na = o_na; floor = o_floor; r_floor = o_rfloor;
#ifdef SLOW
	r_found = o_rfound;
#endif
	k_r[0] = k_o[0]; k_r[1] = k_o[1]; r_o = 1;
#ifdef CARRIED
	s_gen = o_gen; nonce = o_nonce;
#endif
#endif
	for (k : 0 .. 1) { proves[k] = newer[k]; contra[k] = contra[k] || newer[k] }
	blind = 1; byNew = 0; moved = 0; now = now + DOWN;
	tidy()
}

proctype world()
{
	byte v;
	do
	:: d_step { now < TM -> now++ }
#ifdef MOVE
	:: d_step { losses < LOSSES && moved && (!closed || noRights || MOVE) -> lose() }
#else
	:: d_step { losses < LOSSES && moved -> lose() }
#endif
#ifndef REMADE
	:: d_step { losses < LOSSES && moved ->
		o_tok = s_tok; o_nb = s_nb; o_na = s_na; o_floor = floor; o_rfloor = r_floor; r_o = 1; k_o[0] = k_r[0]; k_o[1] = k_r[1];
#ifdef CARRIED
		o_gen = s_gen; o_nonce = nonce;
#endif
#ifdef SLOW
		o_rfound = r_found;
#endif
		moved = 0; newer[0] = 0; newer[1] = 0; tidy() }
#endif
#ifdef OPERATOR
	/* An operator raises the floor, for a reason of his own. */
	:: d_step { floor < OPERATOR -> floor = OPERATOR; moved = 1 }
#endif
#ifdef LOWER
	/* An operator lowers a floor that a wrong clock has raised: to what any window can reach by now. */
	:: d_step { floor > LOWEST -> floor = LOWEST; r_floor = MIN(r_floor, floor); moved = 1 }
#endif
#ifdef MOVE
	/* Another namespace follows this one: it grants from where this one has ended, and this one is closed. */
	:: d_step { !closed && !blind -> closed = 1; newFloor = MAX(s_na, floor); floor = LAST; moved = 1 }
	:: d_step { closed && !noRights -> noRights = 1 }
	:: d_step { closed && W > newFloor && by == NOBODY -> by = GONE; byNew = 1 - MOVE }
#endif
	od
}

init {
	by = NOBODY; r_o = 1;
#ifdef DECL
	s_decl = 1;
#endif
	atomic { SOME(W, 1, TM + DOWN * LOSSES + EPS + LONGEST);
#ifdef FOLLOWS
		/* The namespace follows another one, which has issued IDs up to the tick FOLLOWS: so the floor was raised to there after
		 * it was declared. The copy may be from between the two. */
		floor = FOLLOWS; moved = 1;
		if :: W <= FOLLOWS -> by = GONE :: else fi;
#endif
		run process(0); run process(1); run world() }
}
