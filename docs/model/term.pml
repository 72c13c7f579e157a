/*
 * term.pml: the inside of one generator. Goroutines stamp IDs without a lock while the keeper renews, closes, swaps and
 * releases terms. Checks S1, S2 and S6 there, where the other models take "stamp" and "close" for single steps.
 *
 * One statement or atomic block here is one atomic operation of the program (a load, a compare-and-swap, an OR): between
 * any two of them every other goroutine may run, for any length of time. The clock is free: a reading is any tick, so it
 * makes no difference when it is taken.
 */

#ifndef T
#define T 3                     /* ticks are 1..T */
#endif
#ifndef TERMS
#define TERMS 3                 /* terms that the keeper goes through; they take turns on two worker IDs */
#endif
#define SEQ  2                  /* sequence numbers in a tick: 0 and 1 */

#include "checks.h"

#define MAX(a, b)     ((a) > (b) -> (a) : (b))

/* The packed state word: tick * SEQ + sequence, and one bit which closes it and keeps the rest. */
#define CLOSED        64
#define TICK(w)       (((w) & 63) / SEQ)
#define USED_UP(t)    ((t) * SEQ + SEQ - 1)     /* "tick t is fully used": so a term starts, at its NotBefore */

/* Terms. A term's worker ID never changes and its NotAfter only grows. */
byte word[TERMS], na[TERMS];
#define WORKER(term)  ((term) % 2)
byte current;                   /* the generator's pointer to its term */

#if defined(M_PAIR)             /* worker ID, NotAfter and state word are three variables of the generator */
byte theWorker, theNA, theWord;
#elif defined(M_ONEWORD)        /* terms are immutable, but they share one state word */
byte theWord;
#endif

/* Ghosts: what the coordinator has stored for the two worker IDs. Every tick outside is, or may be, somebody else's. */
byte lower[2], upper[2];        /* the window (lower, upper] that was granted to this generator last, or what is left */
bit  trimmed[2];                /* it was released: upper went down to the last tick */
byte order;                     /* the highest word issued so far, by any term */

/* What must hold of an ID at the moment when it is taken. */
inline issue(w, id) {
	CHECK_S1(id > order);                   /* so never the same one twice, and in order across terms too */
	CHECK_S6(!trimmed[w] || TICK(id) <= upper[w]);
	CHECK_S2(trimmed[w] || TICK(id) > lower[w] && TICK(id) <= upper[w]);
	order = id
}

proctype caller()
{
	byte term, old, limit, now, next;
#ifdef M_PAIR
	byte w;
#endif
	do
	:: term = current;
#if defined(M_PAIR)
		w = theWorker;
		old = theWord;
		limit = theNA;
#elif defined(M_ONEWORD)
		old = theWord;
		limit = na[term];
#else
		old = word[term];
		limit = na[term];               /* read after the word that it judges */
#endif
		atomic {
			now = 1;
			do :: now < T -> now++ :: break od;
			next = MAX(old + 1, now * SEQ);
			if
			:: old >= CLOSED || TICK(next) > limit          /* refused; the next call loads the pointer again */
			:: else ->
				if                      /* the compare-and-swap: if it succeeds, the ID is taken */
#if defined(M_PAIR)
				:: theWord == old -> theWord = next; issue(w, next)
#elif defined(M_ONEWORD)
				:: theWord == old -> theWord = next; issue(WORKER(term), next)
#else
				:: word[term] == old -> word[term] = next; issue(WORKER(term), next)
#endif
				:: else                 /* somebody else was first: again */
				fi
			fi;
			term = 0; old = 0; limit = 0; now = 0; next = 0;
#ifdef M_PAIR
			w = 0
#endif
		}
	od
}

proctype keeper()
{
	byte last, v;
	do
	/* Renew: NotAfter grows in the store first (window.pml has the two steps apart), then here. */
	:: atomic { na[current] < T -> na[current] = na[current] + 1; upper[WORKER(current)] = na[current];
#ifdef M_PAIR
		theNA = na[current]
#endif
		}

	/* Swap to a term with the other worker ID. First close; closing returns the last tick. */
	:: current + 1 < TERMS ->
#if defined(M_PAIR) || defined(M_ONEWORD)
		last = theWord;
#elif defined(M_NOCLOSE) || defined(M_LATECLOSE)	/* the last tick is read while the gate stays open */
		last = word[current];
#else
		atomic { last = word[current]; word[current] = word[current] | CLOSED }
#endif
		/* A grant: NotBefore is any tick behind the windows of others; the term starts no earlier than the last
		 * tick issued. */
		atomic { v = upper[WORKER(current + 1)];
			do :: v < T -> v++ :: break od;
			lower[WORKER(current + 1)] = v; trimmed[WORKER(current + 1)] = 0;
			v = MAX(v, TICK(last)); upper[WORKER(current + 1)] = v;
			na[current + 1] = v; word[current + 1] = USED_UP(v); v = 0 }
#if defined(M_PAIR)
		theWord = MAX(theWord, word[current + 1]);
		theNA = na[current + 1];
		theWorker = WORKER(current + 1);
#elif defined(M_ONEWORD)
		theWord = MAX(theWord, word[current + 1]);
#endif
		current = current + 1;
#ifdef M_LATECLOSE	/* published first, closed later */
		atomic { last = word[current - 1]; word[current - 1] = word[current - 1] | CLOSED }
#endif
		/* Release the old one: what is stored goes down to the last tick. */
		d_step { upper[WORKER(current - 1)] = TICK(last); trimmed[WORKER(current - 1)] = 1; last = 0 }
	od
}

init {
	atomic {
		word[0] = USED_UP(0);
#if defined(M_PAIR) || defined(M_ONEWORD)
		theWord = USED_UP(0);
#endif
		run caller(); run caller(); run keeper()
	}
}
