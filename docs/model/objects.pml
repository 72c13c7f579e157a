/*
 * objects.pml: a store that changes one object at a time, as Kubernetes does: the object of a slot and that of the namespace's
 * record. Clients and raisers of the floor at every interleaving, raisers that die half way, writes that come late, and one loss:
 * an object is deleted, put back from a backup, or both go back to an earlier state. Checks S1 and S5.
 *
 * Clocks are free: a lease may be over at any time, so that anybody may be granted the worker ID at any time. There is one
 * floor, the tick W, and until there was a loss nobody gets a tick behind it: that is what the floor of a loss is for.
 *
 * "It is as I have read it" is one bit (same), because the content is random with every write. A second bit (snap) says that it
 * is as in the backup, and becomes the first one when that comes back. The uid is a bit too: the object is a copy, with the content of another one.
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
#define P 2                     /* clients */
#define N (P + RAISERS)         /* all; the raisers are behind the clients */

#include "checks.h"

#define MAX(a, b)     ((a) > (b) -> (a) : (b))
#define MIN(a, b)     ((a) < (b) -> (a) : (b))

typedef slot { bit there, copy; byte nb, na, floor, change, owner }
typedef meta { bit there, copy, closed, mend, count; byte floor, change, done }
/* What somebody has read. */
typedef view { slot s; meta m; bit same, snap, msame, msnap; byte version, mversion }
/* A write under way. */
typedef write { byte kind; bit same, snap, inplace; byte version, x; slot s; meta m }

#define GIVE    1               /* a slot that gives a client more ticks, from x */
#define TOUCH   2               /* a slot with the record's change */
#define MAKE    3               /* a slot that is not there */
#define META    4               /* the namespace's record */
#define REMAKE  5               /* one that is not there */

slot s, s_backup;
meta m, m_backup;
bit s_snap, m_snap;             /* it is as in the backup */
bit saved, lost;                /* there is a backup; there was a loss */
view v[N];
write w[N], late;

#define IDLE    0
#define SLOT    1               /* a client has read the slot, and not yet the record */
#define LISTED  2               /* both, but there was no slot */
#define READY   3               /* both */
#define SENT    4
byte pc[N];
bit held[P];
byte goal[RAISERS];             /* what a raiser wants; 0: nothing */
#define RAISE   1
#define CLOSE   2

/* Ghosts. */
byte top[P];                    /* the highest tick that a client was ever given */
bit promised, shut;             /* somebody was told that the floor is raised; that the namespace is closed */
bit excused;                    /* there was a loss that nobody has dealt with: it shows only to who has seen what is lost */
bit since[RAISERS];             /* it has begun after that */

#ifdef M_VERSION                /* a number is compared, which comes again after a loss */
byte now, now_backup, s_version, m_version, s_version_backup, m_version_backup;
#define FITS(q, number)       (q.version == number && now < 7)
#else
#define FITS(q, number)       (q.same)
#endif

#define COPY_SLOT(to, from)   to.there = from.there; to.copy = from.copy; to.nb = from.nb; to.na = from.na; to.floor = from.floor; to.change = from.change; to.owner = from.owner
#define COPY_META(to, from)   to.there = from.there; to.copy = from.copy; to.closed = from.closed; to.mend = from.mend; to.count = from.count; \
			      to.floor = from.floor; to.change = from.change; to.done = from.done
#define NO_SLOT(to)           to.there = 0; to.copy = 0; to.nb = 0; to.na = 0; to.floor = 0; to.change = 0; to.owner = 0
#define NO_META(to)           to.there = 0; to.copy = 0; to.closed = 0; to.mend = 0; to.count = 0; to.floor = 0; to.change = 0; to.done = 0
#define NO_WRITE(q)           q.kind = 0; q.same = 0; q.snap = 0; q.inplace = 0; q.version = 0; q.x = 0; NO_SLOT(q.s); NO_META(q.m)
#define COPY_WRITE(q, r)      q.kind = r.kind; q.same = r.same; q.snap = r.snap; q.inplace = r.inplace; q.version = r.version; q.x = r.x; COPY_SLOT(q.s, r.s); COPY_META(q.m, r.m)

inline drop(p) { NO_SLOT(v[p].s); NO_META(v[p].m); v[p].same = 0; v[p].snap = 0; v[p].msame = 0; v[p].msnap = 0; v[p].version = 0; v[p].mversion = 0 }
inline forget(p) {
	drop(p); NO_WRITE(w[p]); pc[p] = IDLE;
	if :: p < P -> held[p] = 0 :: else fi
}
inline read_slot(p) {
	COPY_SLOT(v[p].s, s); v[p].same = s.there; v[p].snap = s_snap;
#ifdef M_VERSION
	v[p].version = s_version
#endif
}
inline read_meta(p) {
	COPY_META(v[p].m, m); v[p].msame = m.there; v[p].msnap = m_snap;
#ifdef M_VERSION
	v[p].mversion = m_version
#endif
}

/* A client does not write the record, nor decide by whether it still is like that. */
inline read_record(p) { COPY_META(v[p].m, m) }
#define NO_RECORD_CHECKS(p)   v[p].m.done = 0; v[p].m.mend = 0; v[p].m.copy = 0
#ifdef M_SLOTALONE
#define LEAVE_RECORD(p)       skip
#else
#define LEAVE_RECORD(p)       NO_META(v[p].m)
#endif

/* An object was written: nobody's copy of it is the object any more. */
inline slot_written() {
	s_snap = 0; late.same = late.same && late.kind >= META;
	for (i : 0 .. N - 1) { v[i].same = 0; w[i].same = w[i].same && w[i].kind >= META }
	i = 0;
#ifdef M_VERSION
	now++; s_version = now
#endif
}
inline meta_written() {
	m_snap = 0; late.same = late.same && late.kind < META;
	for (i : 0 .. N - 1) { v[i].msame = 0; w[i].same = w[i].same && w[i].kind < META }
	i = 0;
#ifdef M_VERSION
	now++; m_version = now
#endif
}

/* What shows in the objects themselves that something was lost. */
#ifdef M_NOUID
#define COPIED(o)       0
#else
#define COPIED(o)       o.copy
#endif
#ifdef M_NOCHANGE
#define BEHIND(q)       0
#else
#define BEHIND(q)       (q.s.there && q.s.change > q.m.change)
#endif
#define MISSING(q)      (COPIED(q.m) && q.m.count || BEHIND(q) || q.m.count && (!q.s.there || COPIED(q.s)))

/* The server carries out a write, and says whether it has. */
inline carry_out(q) {
	done = 0;
	if
	:: q.kind == GIVE && s.there && FITS(q, s_version) ->
		CHECK_S5(!promised || q.x >= W);
		CHECK_S5(!shut || q.inplace);
		CHECK_S1(excused || q.x >= top[1 - (q.s.owner - 1)] && (q.inplace || q.x >= top[q.s.owner - 1]));
		top[q.s.owner - 1] = MAX(top[q.s.owner - 1], q.s.na);
		COPY_SLOT(s, q.s); slot_written(); done = 1
	:: q.kind == TOUCH && s.there && FITS(q, s_version) ->
		COPY_SLOT(s, q.s); done = 1;
#ifndef M_SAMEBYTES     /* a write that changes nothing is none to the server */
		slot_written()
#endif
	:: q.kind == MAKE && !s.there -> COPY_SLOT(s, q.s); slot_written(); done = 1
	:: q.kind == META && m.there && FITS(q, m_version) -> COPY_META(m, q.m); meta_written(); done = 1
	:: q.kind == REMAKE && !m.there -> COPY_META(m, q.m); meta_written(); done = 1
	:: else
	fi
}

/* The write of a process that does not wait for it any longer: it is lost, or comes late. */
#ifdef M_VERSION
#define ALIVE(q)        q.kind
#else
#define ALIVE(q)        (q.kind && (q.same || q.snap || q.kind == MAKE || q.kind == REMAKE))
#endif
inline give_up(p) {
	if
#ifdef LATE
	:: late.kind == 0 && ALIVE(w[p]) && p >= LATE -> COPY_WRITE(late, w[p])
#endif
	:: true
	fi
}

#ifdef M_ALONE          /* the floor is in the namespace's record alone */
#define FLOOR(q)        (q.m.floor)
#else
#define FLOOR(q)        MAX(q.m.floor, q.s.floor)
#endif
#define LIMIT(q)        (lost && FLOOR(q) == W -> T : W)

#ifdef M_UNCOUNTED      /* a slot is granted before the record counts it */
#define COUNTED         1
#else
#define COUNTED         m.count
#endif

/* A client writes a slot that it has read. */
inline give(p) {
	w[p].kind = GIVE; w[p].same = v[p].same; w[p].snap = v[p].snap; w[p].version = v[p].version; w[p].x = x; w[p].inplace = keeps;
	w[p].s.there = 1; w[p].s.owner = p + 1; w[p].s.na = x + 1;
	do :: w[p].s.na < LIMIT(v[p]) -> w[p].s.na++ :: break od;
	w[p].s.change = MAX(v[p].s.change, v[p].m.change);
	w[p].s.floor = (v[p].s.change < v[p].m.change -> v[p].m.floor : v[p].s.floor);
	w[p].s.nb = (keeps -> v[p].s.nb : x);
	pc[p] = SENT; x = 0; keeps = 0
}

proctype client(byte p) {
	byte i, x; bit done, keeps;
	do
	/* Acquire: a list. */
	:: atomic { pc[p] != SENT && s.there && m.there -> forget(p); read_slot(p); read_record(p);
		if :: MISSING(v[p]) || v[p].m.change != v[p].m.done || !v[p].m.count -> forget(p) :: else -> NO_RECORD_CHECKS(p); pc[p] = READY fi }
	/* One in which there was no slot; it is read when it is counted. */
	:: atomic { pc[p] == IDLE && !s.there && m.there && !m.count && m.change == m.done -> read_record(p); pc[p] = LISTED }
	:: atomic { pc[p] == LISTED && s.there && COUNTED -> read_slot(p); if :: BEHIND(v[p]) || COPIED(v[p].s) -> forget(p) :: else -> NO_RECORD_CHECKS(p); pc[p] = READY fi }
	:: atomic { pc[p] == READY && !held[p] && !v[p].m.closed ->
		x = MAX(v[p].s.na, FLOOR(v[p]));
		if :: x < LIMIT(v[p]) -> give(p) :: else -> x = 0; forget(p) fi }

	/* Renew, by what the holder has read and the reply to its own write. */
	:: atomic { pc[p] == READY && held[p] ->
		x = v[p].s.na;
		if :: FLOOR(v[p]) > v[p].s.nb -> x = MAX(x, FLOOR(v[p])) :: else fi;
		if :: x >= LIMIT(v[p]) -> x = 0 :: else -> keeps = FLOOR(v[p]) <= v[p].s.nb; give(p) fi }

	/* Look: one object after the other. */
#ifdef M_METAFIRST
	:: atomic { (pc[p] == READY || pc[p] == SENT) && held[p] && m.there -> give_up(p); NO_WRITE(w[p]); NO_SLOT(v[p].s); v[p].same = 0; v[p].snap = 0; read_record(p); pc[p] = SLOT }
	:: atomic { pc[p] == SLOT && s.there -> read_slot(p);
#else
	:: atomic { (pc[p] == READY || pc[p] == SENT) && held[p] && s.there -> give_up(p); NO_WRITE(w[p]); LEAVE_RECORD(p); read_slot(p); pc[p] = SLOT }
	:: atomic { pc[p] == SLOT && m.there ->
#ifndef M_SLOTALONE
		read_record(p);
#endif
#endif
		if :: MISSING(v[p]) || v[p].s.owner != p + 1 -> forget(p) :: else -> NO_RECORD_CHECKS(p); pc[p] = READY fi }

	:: atomic { pc[p] == SENT && w[p].kind -> carry_out(w[p]);
		if
		:: done -> COPY_SLOT(v[p].s, s); v[p].same = 1; v[p].snap = 0; held[p] = 1; pc[p] = READY;
#ifdef M_VERSION
			v[p].version = s_version;
#endif
			NO_WRITE(w[p])
		:: !held[p] -> forget(p)        /* the reply is lost, or it was refused */
		:: held[p] -> NO_WRITE(w[p])    /* what is left is to look */
		fi; done = 0 }
	/* It dies, or gives up. */
	:: atomic { pc[p] != IDLE -> give_up(p); forget(p) }
	od
}

#define SEES    v[p]
#define UNFINISHED      (SEES.m.change != SEES.m.done)

/* What a raiser does next, having listed both, or the slot anew. */
inline next(p) {
	w[p].same = SEES.same; w[p].snap = SEES.snap; w[p].version = SEES.version;
	if
	:: !SEES.m.there ->
		w[p].kind = REMAKE; w[p].m.there = 1; w[p].m.copy = 1; w[p].m.mend = 1; w[p].m.count = 1;
		w[p].m.floor = W; w[p].m.done = SEES.s.change; w[p].m.change = SEES.s.change + 1
	:: SEES.m.there && MISSING(SEES) && !(UNFINISHED && SEES.m.mend) ->
		COPY_META(w[p].m, SEES.m); w[p].kind = META; w[p].m.copy = 0; w[p].m.mend = 1;
#ifndef M_NOFLOOR
		w[p].m.floor = W;
#endif
		w[p].m.change = MAX(SEES.m.change, SEES.s.change) + 1
	:: SEES.m.there && !(MISSING(SEES) && !(UNFINISHED && SEES.m.mend)) && UNFINISHED -> finish(p)
	:: SEES.m.there && !MISSING(SEES) && !UNFINISHED && !SEES.m.count ->
		if
		:: !SEES.s.there -> w[p].kind = MAKE; w[p].s.there = 1; w[p].s.copy = 1; w[p].s.floor = SEES.m.floor; w[p].s.change = SEES.m.change
		:: SEES.s.there && (SEES.s.copy || SEES.s.change < SEES.m.change) -> touch(p)
		:: else -> COPY_META(w[p].m, SEES.m); w[p].kind = META; w[p].m.copy = 0; w[p].m.count = 1
		fi
	:: else -> COPY_META(w[p].m, SEES.m); w[p].kind = META; w[p].m.mend = 0; w[p].m.change = SEES.m.change + 1;
		if :: goal[p - P] == RAISE -> w[p].m.floor = W :: else -> w[p].m.closed = 1 fi
	fi;
	if :: w[p].kind >= META -> w[p].same = SEES.msame; w[p].snap = SEES.msnap; w[p].version = SEES.mversion :: else fi
#ifdef M_NOTOUCH        /* a change is done when the record has it */
	if :: w[p].kind == META -> w[p].m.done = w[p].m.change :: else fi
#endif
}
inline touch(p) {
	COPY_SLOT(w[p].s, SEES.s); w[p].kind = TOUCH; w[p].s.copy = 0; w[p].s.floor = SEES.m.floor; w[p].s.change = MAX(SEES.s.change, SEES.m.change)
}
inline finish(p) {
	if
	:: !SEES.s.there && SEES.m.mend ->
		w[p].kind = MAKE; w[p].s.there = 1; w[p].s.copy = 1; w[p].s.change = SEES.m.change; w[p].s.floor = SEES.m.floor
	:: SEES.s.there && (SEES.s.change < SEES.m.change || SEES.m.mend && SEES.s.copy) -> touch(p)
	:: else -> COPY_META(w[p].m, SEES.m); w[p].kind = META; w[p].m.copy = 0;
		w[p].m.change = MAX(SEES.m.change, SEES.s.change); w[p].m.done = SEES.m.change;
		if :: w[p].m.change != SEES.m.change -> w[p].m.done = w[p].m.change; w[p].m.change = w[p].m.change + 1 :: else fi
	fi
}

/* Whoever has what it wanted is told so. */
#ifdef M_HALFDONE       /* a floor that is there already is taken for one that was raised */
#define ENOUGH(p)       (goal[p - P] == RAISE && m.floor == W || goal[p - P] == CLOSE && m.closed)
#else
#define ENOUGH(p)       ((goal[p - P] == RAISE && m.floor == W || goal[p - P] == CLOSE && m.closed) && m.change == m.done && m.count && !(MISSINGNOW))
#endif
#define MISSINGNOW      (COPIED(m) || s.there && s.change > m.change || !s.there || COPIED(s))

proctype raiser(byte p) {
	byte i; bit done;
	do
	:: atomic { goal[p - P] == 0 -> since[p - P] = 1;
		if :: goal[p - P] = RAISE
#ifdef CLOSES
		:: goal[p - P] = CLOSE
#endif
		fi }
	/* A list: it is done, or something is to be written. */
	:: atomic { goal[p - P] && pc[p] == IDLE && (m.there || s.there) ->
		if
		:: m.there && ENOUGH(p) ->
			if :: goal[p - P] == RAISE -> promised = 1; excused = excused && !since[p - P] :: else -> shut = 1 fi;
			goal[p - P] = 0; since[p - P] = 0
		:: else -> read_slot(p); read_meta(p); next(p); if :: !UNFINISHED -> drop(p) :: else fi; pc[p] = SENT
		fi }
	/* A slot that was to be touched is read alone, if it was changed. */
	:: atomic { pc[p] == SENT -> carry_out(w[p]); NO_WRITE(w[p]);
		if
		:: SEES.m.there && UNFINISHED && s.there -> read_slot(p); pc[p] = READY
		:: forget(p)
		fi; done = 0 }
	:: atomic { pc[p] == READY -> next(p); pc[p] = SENT }
	/* It dies, or gives up; another one may begin. */
	:: atomic { goal[p - P] -> give_up(p); forget(p); goal[p - P] = 0; since[p - P] = 0 }
	od
}

inline slot_back() {
	slot_written(); COPY_SLOT(s, s_backup); s_snap = s.there;
	if :: late.kind < META -> late.same = late.snap :: else fi;
	for (i : 0 .. N - 1) { v[i].same = v[i].snap; if :: w[i].kind < META -> w[i].same = w[i].snap :: else fi }
	i = 0;
#ifdef M_VERSION
	now = now_backup; s_version = s_version_backup
#endif
}
inline meta_back() {
	meta_written(); COPY_META(m, m_backup); m_snap = 1;
	if :: late.kind >= META -> late.same = late.snap :: else fi;
	for (i : 0 .. N - 1) { v[i].msame = v[i].msnap; if :: w[i].kind >= META -> w[i].same = w[i].snap :: else fi }
	i = 0;
#ifdef M_VERSION
	now = now_backup; m_version = m_version_backup
#endif
}

/* The backup is used once. */
inline unsave() {
	NO_SLOT(s_backup); NO_META(m_backup); s_snap = 0; m_snap = 0; late.snap = 0;
	for (i : 0 .. N - 1) { v[i].snap = 0; v[i].msnap = 0; w[i].snap = 0 }
	i = 0
}

/* Writes that come late, or never; the backup; one loss. */
proctype world() {
	byte i; bit done;
	do
	:: atomic { late.kind -> carry_out(late); NO_WRITE(late); done = 0 }
	:: atomic { late.kind -> NO_WRITE(late) }
#if defined(PUTBACK) || defined(RESTORED)
	:: atomic { !saved && !lost && m.floor == 0 -> saved = 1; COPY_SLOT(s_backup, s); COPY_META(m_backup, m); s_snap = s.there; m_snap = 1; late.snap = late.same;
		for (i : 0 .. N - 1) { v[i].snap = v[i].same; v[i].msnap = v[i].msame; w[i].snap = w[i].same }
		i = 0;
#ifdef M_VERSION
		now_backup = now; s_version_backup = s_version; m_version_backup = m_version
#endif
	}
#endif
#ifdef DELETED          /* one of the two is gone */
	:: atomic { !lost && s.there -> lost = 1; slot_written(); NO_SLOT(s) }
	:: atomic { !lost && s.there && m.count && !m.closed -> lost = 1; meta_written(); NO_META(m) }
#endif
#ifdef PUTBACK          /* one was deleted and made again from the backup */
	:: atomic { !lost && s.there && saved && s_backup.there -> lost = 1; slot_written(); COPY_SLOT(s, s_backup); s.copy = 1; unsave() }
	:: atomic { !lost && saved && s.there && m.count -> lost = 1; meta_written(); COPY_META(m, m_backup); m.copy = 1; unsave() }
#endif
#ifdef RESTORED         /* both go back, or the slot alone does */
	:: atomic { !lost && saved && m.floor == 0 ->
		if
		:: slot_back(); meta_back()
		:: s.there && s_backup.there -> slot_back()
		fi;
		lost = 1; excused = 1; promised = 0; shut = 0; unsave();
		for (i : 0 .. RAISERS - 1) { since[i] = 0 }
		i = 0 }
#endif
	od
}

init {
	byte i;
	atomic {
		m.there = 1;
		for (i : 0 .. P - 1) { run client(i) }
		for (i : P .. N - 1) { run raiser(i) }
		i = 0; run world()
	}
}
