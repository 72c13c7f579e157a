/*
 * checks.h: the invariants as assertions. The name in front of each condition is what the checker prints when it
 * fails, so that check.sh can tell which invariant a mutant broke. The names are variables which are always 0, and no part
 * of the state.
 *
 * With -DONLY=n just invariant n is watched: this is how a mutant which breaks, say, S3 at once is shown to end in a
 * duplicate ID (S1) as well.
 */
hidden byte S1_uniqueness, S2_stamp_guard, S3_persist_before_use, S4_grant, S5_renew, S6_trim, S7_range, S8_layout,
	S9_amnesia;

#ifndef ONLY
#define ONLY 0
#endif

#if ONLY == 0 || ONLY == 1
#define CHECK_S1(c)  assert(S1_uniqueness || (c))
#else
#define CHECK_S1(c)  skip
#endif
#if ONLY == 0 || ONLY == 2
#define CHECK_S2(c)  assert(S2_stamp_guard || (c))
#else
#define CHECK_S2(c)  skip
#endif
#if ONLY == 0 || ONLY == 3
#define CHECK_S3(c)  assert(S3_persist_before_use || (c))
#else
#define CHECK_S3(c)  skip
#endif
#if ONLY == 0 || ONLY == 4
#define CHECK_S4(c)  assert(S4_grant || (c))
#else
#define CHECK_S4(c)  skip
#endif
#if ONLY == 0 || ONLY == 5
#define CHECK_S5(c)  assert(S5_renew || (c))
#else
#define CHECK_S5(c)  skip
#endif
#if ONLY == 0 || ONLY == 6
#define CHECK_S6(c)  assert(S6_trim || (c))
#else
#define CHECK_S6(c)  skip
#endif
#if ONLY == 0 || ONLY == 7
#define CHECK_S7(c)  assert(S7_range || (c))
#else
#define CHECK_S7(c)  skip
#endif
#if ONLY == 0 || ONLY == 8
#define CHECK_S8(c)  assert(S8_layout || (c))
#else
#define CHECK_S8(c)  skip
#endif
#if ONLY == 0 || ONLY == 9
#define CHECK_S9(c)  assert(S9_amnesia || (c))
#else
#define CHECK_S9(c)  skip
#endif

/* S3: the stored NotAfter covers every window that a holder believes in. An empty window (NotAfter == NotBefore) has
 * nothing to cover: it may stand at a floor that no stored NotAfter has reached yet. */
#define COVERED(p)        (st[p] != HELD || ((spent[p] && na[p] <= last[p]) || s_na >= na[p]) && s_na >= phi[p])
#define CHECK_S3_ALL()    CHECK_S3(COVERED(0) && COVERED(1))
