/*
 * objects.pml: a store that changes one object at a time, as Kubernetes does: the object of a slot, that of the namespace's
 * record, and one that marks which slots were ever granted. Clients and raisers of the floor at every interleaving, who die
 * half way, writes that come late, and one loss: an object is deleted, put back from a backup, or goes back to an earlier state.
 * Checks S1 and S5.
 *
 * Clocks are free: a lease may be over at any time, so that anybody may be granted the worker ID at any time. There is one
 * floor, the tick W, and until there was a loss nobody gets a tick behind it: that is what the floor of a loss is for. A floor
 * at T closes the namespace.
 *
 * "It is as I have read it" is one bit (same), because the content is random with every write. A second bit (snap) says that it
 * is as in the backup, and becomes the first one when that comes back. An object that is made has another uid than all before.
 */

#ifndef T
#define T 3                     /* ticks are 1..T */
#endif
#ifndef W
#define W 2                     /* the floor */
#endif
#ifndef RAISERS
#define RAISERS 1
#endif
#ifndef UIDS
#define UIDS 3                  /* how many slots are made */
#endif
#define P 2                     /* clients */
#define N (P + RAISERS)         /* all; the raisers are behind the clients */

#include "checks.h"

#define MAX(a, b)     ((a) > (b) -> (a) : (b))

typedef slot { byte uid, nb, na, seen, floor, owner }   /* uid 0: it is not there */
typedef meta { bit there, copy, settled; byte n, floor } /* n counts writes; settled: the marks are as the slots were */
typedef mark { bit there, copy; byte uid }              /* of the slot that was granted; 0: none was */
typedef view { slot s; meta m; mark k; bit same, snap, msame, msnap }
typedef write { byte kind; bit same, snap, marks; slot s; meta m }

#define GIVE    1               /* a slot that gives a client more ticks */
#define MAKE    2               /* one that is not there */
#define TOUCH   3               /* a slot with the record's floor */
#define META    4               /* the namespace's record */
#define REMAKE  5               /* one that is not there */

slot s, s_backup;
meta m, m_backup;
mark k, k_backup;
bit s_snap, m_snap;             /* it is as in the backup */
bit saved, lost;                /* there is a backup; there was a loss */
byte uids;                      /* slots that were made */
view v[N];
write w[N], late;

#define IDLE    0
#define SENT    1
#define WRITTEN 2               /* a slot that has no mark */
#define MARKED  3
#define ASKING  4               /* what the record says by now */
#define LOOKED  5               /* at the slot, and not yet at the record */
#define READY   6
byte pc[N];
bit held[P];
byte ends[P];                   /* the tick until which a holder has its window */
byte from[P];                   /* where what is under way begins */
byte goal[RAISERS];             /* the floor that a raiser wants; 0: nothing */

/* Ghosts. */
byte mine[P], used;             /* the ticks that a client was ever given; that anybody was */
byte promised;                  /* the floor that somebody was told is there */
bit excused;                    /* there was a loss that nobody has dealt with: it shows only to who has seen what is lost */
bit since[RAISERS];             /* it has begun after that */

#define COPY_SLOT(to, q)   to.uid = q.uid; to.nb = q.nb; to.na = q.na; to.seen = q.seen; to.floor = q.floor; to.owner = q.owner
#define COPY_META(to, q)   to.there = q.there; to.copy = q.copy; to.settled = q.settled; to.n = q.n; to.floor = q.floor
#define COPY_MARK(to, q)   to.there = q.there; to.copy = q.copy; to.uid = q.uid
#define NO_SLOT(to)        to.uid = 0; to.nb = 0; to.na = 0; to.seen = 0; to.floor = 0; to.owner = 0
#define NO_META(to)        to.there = 0; to.copy = 0; to.settled = 0; to.n = 0; to.floor = 0
#define NO_MARK(to)        to.there = 0; to.copy = 0; to.uid = 0
#define NO_WRITE(q)        q.kind = 0; q.same = 0; q.snap = 0; q.marks = 0; NO_SLOT(q.s); NO_META(q.m)
#define COPY_WRITE(to, q)  to.kind = q.kind; to.same = q.same; to.snap = q.snap; to.marks = q.marks; COPY_SLOT(to.s, q.s); COPY_META(to.m, q.m)

inline drop(p) { NO_SLOT(v[p].s); NO_META(v[p].m); NO_MARK(v[p].k); v[p].same = 0; v[p].snap = 0; v[p].msame = 0; v[p].msnap = 0 }
inline forget(p) {
	drop(p); NO_WRITE(w[p]); pc[p] = IDLE;
	if :: p < P -> held[p] = 0; ends[p] = 0; from[p] = 0; mine[p] = 0 :: else fi
}
inline read_slot(p) { COPY_SLOT(v[p].s, s); v[p].same = (s.uid != 0); v[p].snap = s_snap }
inline read_meta(p) { COPY_META(v[p].m, m); v[p].msame = m.there; v[p].msnap = m_snap }
/* A client does not write the record. */
inline read_record(p) { COPY_META(v[p].m, m) }

/* An object was written: nobody's copy of it is the object any more. */
inline slot_written() {
	s_snap = 0; late.same = late.same && late.kind >= META;
	for (i : 0 .. N - 1) { v[i].same = 0; w[i].same = w[i].same && w[i].kind >= META }
	i = 0
}
inline meta_written() {
	m_snap = 0; late.same = late.same && late.kind < META;
	for (i : 0 .. N - 1) { v[i].msame = 0; w[i].same = w[i].same && w[i].kind < META }
	i = 0
}

/* What shows in the objects themselves that something was lost. */
#ifdef M_NOSEEN
#define BEHIND(q)       0
#else
#define BEHIND(q)       (q.s.uid && q.s.seen > q.m.n)
#endif
#ifdef M_NOUID          /* a slot that is there will do */
#define UNLIKE(q)       (q.k.uid && !q.s.uid)
#else
#define UNLIKE(q)       (q.k.uid && q.s.uid != q.k.uid)
#endif
#ifdef M_NOUID
#define STRANGE(q)      0
#else
#define STRANGE(q)      (k.uid != q.s.uid)
#endif
#define UNMARKED(q)     (!q.k.there || q.k.copy)
#define MISSING(q)      (q.m.copy || BEHIND(q) || q.m.settled && (UNMARKED(q) || UNLIKE(q)))

/* The server carries out a write, and says whether it has. */
inline carry_out(q) {
	done = 0;
	if
	:: (q.kind == GIVE || q.kind == TOUCH) && s.uid && q.same -> COPY_SLOT(s, q.s); slot_written(); done = 1
	:: q.kind == MAKE && !s.uid && uids < UIDS -> uids++; COPY_SLOT(s, q.s); s.uid = uids; slot_written(); done = 1
	:: q.kind == META && m.there && q.same -> COPY_META(m, q.m); meta_written(); done = 1
	:: q.kind == REMAKE && !m.there -> COPY_META(m, q.m); meta_written(); done = 1
	:: else
	fi
}

/* The write of a process that does not wait for it any longer: it is lost, or comes late. */
#define ALIVE(q)        (q.kind && (q.same || q.snap || q.kind == MAKE || q.kind == REMAKE))
inline give_up(p) {
	if
#ifdef LATE
	:: late.kind == 0 && ALIVE(w[p]) && p >= LATE -> COPY_WRITE(late, w[p])
#endif
	:: true
	fi
}

#define LIMIT(q)        (lost && q.m.floor >= W -> T : W)
#define TICKS(a, b)     ((1 << (b)) - (1 << (a)))       /* those behind a, up to b */

/* A client sends what gives it ticks behind x. */
inline give(p) {
	w[p].same = v[p].same; w[p].snap = v[p].snap;
	w[p].kind = (v[p].s.uid -> GIVE : MAKE);
	w[p].s.uid = v[p].s.uid; w[p].s.owner = p + 1; w[p].s.seen = MAX(v[p].s.seen, v[p].m.n); w[p].s.floor = v[p].m.floor;
	w[p].s.nb = (keeps -> v[p].s.nb : x); w[p].s.na = x + 1;
	do :: w[p].s.na < LIMIT(v[p]) -> w[p].s.na++ :: break od;
	w[p].s.na = MAX(w[p].s.na, v[p].s.na);
	from[p] = x; pc[p] = SENT; x = 0; keeps = 0
}
/* It has it. */
inline adopt(p) {
	x = TICKS(from[p], v[p].s.na) & ~mine[p];
	CHECK_S5(from[p] >= promised);
	CHECK_S1(excused || !(x & used));
	used = used | x; mine[p] = mine[p] | x; x = 0;
	held[p] = 1; ends[p] = v[p].s.na; from[p] = 0; NO_MARK(v[p].k); pc[p] = READY
}
#ifdef M_REMARK         /* a mark takes the place of another one */
#define NEW(q)          1
#else
#define NEW(q)          (q.uid == 0)
#endif
#define SAYS(p)         (m.there && !m.copy && m.floor == v[p].m.floor && m.n == v[p].m.n)

proctype client(byte p) {
	byte i, x; bit done, keeps;
	do
	/* Acquire: a list, and a slot that is made or written. */
	:: atomic { pc[p] != SENT && m.there -> forget(p); read_slot(p); read_record(p); COPY_MARK(v[p].k, k);
		x = MAX(v[p].s.na, v[p].m.floor);
		if
		:: MISSING(v[p]) || !v[p].m.settled || x >= LIMIT(v[p]) -> x = 0; forget(p)
		:: else ->
			w[p].marks = !(v[p].s.uid && v[p].k.uid == v[p].s.uid); give(p)
		fi }
	/* Renew, by what the holder has read and the reply to its own write. */
	:: atomic { pc[p] == READY && held[p] ->
		x = MAX(v[p].m.floor, v[p].s.nb); keeps = (x <= ends[p]); x = MAX(x, ends[p]);
		if :: x >= LIMIT(v[p]) -> x = 0; keeps = 0 :: else -> give(p) fi }

	:: atomic { pc[p] == SENT && w[p].kind -> carry_out(w[p]);
		if
		:: done -> COPY_SLOT(v[p].s, s); v[p].same = 1; v[p].snap = 0;
#ifdef M_NOMARK         /* a slot is granted that has no mark */
			w[p].marks = 0;
#endif
			if :: w[p].marks -> pc[p] = WRITTEN :: else -> pc[p] = ASKING fi; NO_WRITE(w[p])
		:: !held[p] -> forget(p)        /* the reply is lost, or it was refused */
		:: held[p] -> NO_WRITE(w[p])    /* what is left is to look */
		fi; done = 0 }
	:: atomic { pc[p] == WRITTEN ->
		if :: k.there && !k.copy && NEW(k) -> k.uid = v[p].s.uid; pc[p] = MARKED :: else -> forget(p) fi }
	/* The slot may have been deleted before it was marked. */
	:: atomic { pc[p] == MARKED ->
#ifndef M_UNREAD
		if :: s.uid == v[p].s.uid && v[p].same -> pc[p] = ASKING :: else -> forget(p) fi
#else
		pc[p] = ASKING
#endif
	}
	/* Nothing is adopted before the record was read after the write. */
#ifdef M_NOREAD
	:: atomic { pc[p] == ASKING -> adopt(p) }
#else
	:: atomic { pc[p] == ASKING ->
		if
		:: SAYS(p) -> adopt(p)
		:: !SAYS(p) && (!m.there || m.copy || !held[p]) -> forget(p)
		:: !SAYS(p) && m.there && !m.copy && held[p] -> read_record(p); from[p] = 0; pc[p] = READY
		fi }
#endif
	/* Look: one object after the other. */
#ifdef M_METAFIRST
	:: atomic { held[p] && m.there -> give_up(p); NO_WRITE(w[p]); from[p] = 0; read_record(p); pc[p] = LOOKED }
	:: atomic { pc[p] == LOOKED && s.uid -> read_slot(p);
#else
	:: atomic { held[p] && s.uid -> give_up(p); NO_WRITE(w[p]); from[p] = 0; NO_META(v[p].m); read_slot(p); pc[p] = LOOKED }
	:: atomic { pc[p] == LOOKED && m.there -> read_record(p);
#endif
		if :: v[p].m.copy || BEHIND(v[p]) || STRANGE(v[p]) || v[p].s.owner != p + 1 || v[p].s.na < ends[p] -> forget(p) :: else -> pc[p] = READY fi }
	/* It dies, or gives up. */
	:: atomic { pc[p] != IDLE -> give_up(p); forget(p) }
	od
}

/* What a raiser does next, having listed all. */
#define SEES    v[p]
inline next(p) {
	if
	:: !SEES.m.there ->
		w[p].kind = REMAKE; w[p].m.there = 1; w[p].m.floor = MAX(W, SEES.s.floor); w[p].m.n = SEES.s.seen + 1
	:: SEES.m.there && MISSING(SEES) ->
		COPY_META(w[p].m, SEES.m); w[p].kind = META; w[p].m.copy = 0; w[p].m.settled = 0;
#ifndef M_NOFLOOR
		w[p].m.floor = MAX(W, SEES.m.floor);
		if :: BEHIND(SEES) -> w[p].m.floor = MAX(w[p].m.floor, SEES.s.floor) :: else fi;
#endif
		w[p].m.n = MAX(SEES.m.n, SEES.s.seen) + 1
	/* The marks are made to say what is there, and then the record says that they do. */
	:: SEES.m.there && !MISSING(SEES) && !SEES.m.settled && (!SEES.k.there || SEES.k.copy || SEES.k.uid != SEES.s.uid) ->
		pc[p] = WRITTEN
	:: SEES.m.there && !MISSING(SEES) && !SEES.m.settled && !(!SEES.k.there || SEES.k.copy || SEES.k.uid != SEES.s.uid) ->
		COPY_META(w[p].m, SEES.m); w[p].kind = META; w[p].m.settled = 1; w[p].m.n = SEES.m.n + 1
	:: SEES.m.there && !MISSING(SEES) && SEES.m.settled && SEES.m.floor < goal[p - P] ->
		COPY_META(w[p].m, SEES.m); w[p].kind = META; w[p].m.floor = goal[p - P]; w[p].m.n = SEES.m.n + 1
	:: else -> /* a slot that was there when the namespace was closed says so */
		COPY_SLOT(w[p].s, SEES.s); w[p].kind = TOUCH; w[p].s.seen = SEES.m.n; w[p].s.floor = SEES.m.floor
	fi;
	if
	:: pc[p] == WRITTEN
	:: pc[p] != WRITTEN && w[p].kind == TOUCH -> w[p].same = SEES.same; w[p].snap = SEES.snap; pc[p] = SENT
	:: else -> w[p].same = SEES.msame; w[p].snap = SEES.msnap; pc[p] = SENT
	fi
}
#ifdef M_UNTOUCHED
#define TOUCHED         1
#else
#define TOUCHED         (goal[p - P] < T || !s.uid || s.floor >= T)
#endif
#define SOUND           (m.there && !m.copy && m.settled && !(s.uid && s.seen > m.n) && k.there && !k.copy && (!k.uid || s.uid == k.uid))

proctype raiser(byte p) {
	byte i; bit done;
	do
	:: atomic { goal[p - P] == 0 -> since[p - P] = 1;
		if :: goal[p - P] = W
#ifdef CLOSES
		:: goal[p - P] = T
#endif
		fi }
	/* A list: it is done, or something is to be written. */
	:: atomic { goal[p - P] && pc[p] == IDLE && (m.there || s.uid) ->
		if
		:: SOUND && m.floor >= goal[p - P] && TOUCHED ->
			promised = MAX(promised, goal[p - P]); excused = excused && !since[p - P]; goal[p - P] = 0; since[p - P] = 0
		:: else -> read_slot(p); read_meta(p); COPY_MARK(v[p].k, k); next(p);
			if :: pc[p] == SENT -> drop(p) :: else fi
		fi }
	/* A floor counts from when it is written; a namespace is closed when its slot says so. */
	:: atomic { pc[p] == SENT -> carry_out(w[p]);
		if
		:: done && w[p].kind == META && w[p].m.settled && goal[p - P] < T && w[p].m.floor >= goal[p - P] ->
			promised = MAX(promised, goal[p - P]); excused = excused && !since[p - P]; goal[p - P] = 0; since[p - P] = 0
		:: else
		fi;
		forget(p); done = 0 }
	:: atomic { pc[p] == WRITTEN -> /* the marks that it has seen, or none */
		if
		:: k.there == SEES.k.there && k.uid == SEES.k.uid -> k.there = 1; k.copy = 0; k.uid = SEES.s.uid
		:: else
		fi;
		forget(p) }
	/* It dies, or gives up; another one may begin. */
	:: atomic { goal[p - P] -> give_up(p); forget(p); goal[p - P] = 0; since[p - P] = 0 }
	od
}

inline slot_back() {
	slot_written(); COPY_SLOT(s, s_backup); s_snap = (s.uid != 0);
	if :: late.kind < META -> late.same = late.snap :: else fi;
	for (i : 0 .. N - 1) { v[i].same = v[i].snap; if :: w[i].kind < META -> w[i].same = w[i].snap :: else fi }
	i = 0
}
inline meta_back() {
	meta_written(); COPY_META(m, m_backup); m_snap = 1;
	if :: late.kind >= META -> late.same = late.snap :: else fi;
	for (i : 0 .. N - 1) { v[i].msame = v[i].msnap; if :: w[i].kind >= META -> w[i].same = w[i].snap :: else fi }
	i = 0
}
/* The backup is used once. */
inline unsave() {
	saved = 0; NO_SLOT(s_backup); NO_META(m_backup); NO_MARK(k_backup); s_snap = 0; m_snap = 0; late.snap = 0;
	for (i : 0 .. N - 1) { v[i].snap = 0; v[i].msnap = 0; w[i].snap = 0 }
	i = 0
}

/* Writes that come late, or never; the backup; one loss. */
proctype world() {
	byte i; bit done;
	do
	:: atomic { late.kind -> carry_out(late); NO_WRITE(late); done = 0 }
	:: atomic { late.kind -> NO_WRITE(late) }
#if defined(PUTBACK) || defined(RESTORED) || defined(UNDONE)
	:: atomic { !saved && !lost && m.floor == 0 -> saved = 1; COPY_SLOT(s_backup, s); COPY_META(m_backup, m); COPY_MARK(k_backup, k);
		s_snap = (s.uid != 0); m_snap = 1; late.snap = late.same;
		for (i : 0 .. N - 1) { v[i].snap = v[i].same; v[i].msnap = v[i].msame; w[i].snap = w[i].same }
		i = 0 }
#endif
#ifdef DELETED          /* one of them is gone */
	:: atomic { !lost && s.uid -> lost = 1; slot_written(); NO_SLOT(s) }
	:: atomic { !lost && s.uid && (m.floor < T || s.floor == T) -> lost = 1; meta_written(); NO_META(m) }
	:: atomic { !lost && s.uid -> lost = 1; NO_MARK(k) }
	:: atomic { !lost && s.uid -> lost = 1; slot_written(); NO_SLOT(s); NO_MARK(k) } /* all but the record */
#endif
#ifdef PUTBACK          /* one was deleted and made again from the backup */
	:: atomic { !lost && s.uid && saved && s_backup.uid && uids < UIDS -> lost = 1; slot_written(); uids++; COPY_SLOT(s, s_backup); s.uid = uids; unsave() }
	:: atomic { !lost && saved && s.uid -> lost = 1; meta_written(); COPY_META(m, m_backup); m.copy = 1; unsave() }
	:: atomic { !lost && saved && s.uid -> lost = 1; COPY_MARK(k, k_backup); k.copy = 1; unsave() }
#endif
#ifdef UNDONE           /* the record alone goes back, while nobody has written a slot and not read it yet; a slot has seen what it was */
	:: atomic { !lost && saved && s.uid && s.seen == m.n && m_backup.n < m.n && (pc[0] == IDLE || pc[0] == READY) && (pc[1] == IDLE || pc[1] == READY) -> lost = 1; meta_back(); unsave() }
#endif
#ifdef RESTORED         /* all goes back, or the slot alone does */
	:: atomic { !lost && saved && m.floor == 0 ->
		if
		:: slot_back(); meta_back(); COPY_MARK(k, k_backup)
		:: s.uid && s_backup.uid == s.uid -> slot_back()
		fi;
		lost = 1; excused = 1; promised = 0; unsave();
		for (i : 0 .. RAISERS - 1) { since[i] = 0 }
		i = 0 }
#endif
	od
}

init {
	byte i;
	atomic {
		m.there = 1; m.settled = 1; k.there = 1;
		for (i : 0 .. P - 1) { run client(i) }
		for (i : P .. N - 1) { run raiser(i) }
		i = 0; run world()
	}
}
