# The rows of check.sh: row model, name, expected, defines. A mutant with ONLY=1 is shown to end in a duplicate ID,
# although it may break other invariants on the way; the other mutants break what they are named for.

# ---- window.pml: free clocks, S1 to S8 ----
row window "2 ticks" safe T=2
row window "2 ticks, 3 requests" safe T=2 R=3 ONEREPLY
row window "3 ticks, 1 reply" safe T=3 ONEREPLY
row window NBCLOCK S1 ONLY=1 M_NBCLOCK
row window EARLY S1 ONLY=1 M_EARLY
row window EARLY S3 M_EARLY
row window INCLUSIVE S1 ONLY=1 M_INCLUSIVE
row window TTLKEY S1 ONLY=1 M_TTLKEY
row window NOCLOSE S1 ONLY=1 M_NOCLOSE
row window NOCLOSE S6 ONLY=6 M_NOCLOSE
row window NOOWNER S1 ONLY=1 M_NOOWNER
row window NOGEN S1 ONLY=1 M_NOGEN
row window NOMAX S1 ONLY=1 M_NOMAX
row window NOMAX S5 ONLY=5 M_NOMAX
row window RESUME S1 ONLY=1 M_RESUME
row window "identity as owner" safe T=2 M_IDENTITY
row window IDENTITY+NOGEN S1 ONLY=1 M_IDENTITY M_NOGEN
row window CLONE S1 ONLY=1 M_CLONE
row window NOLAYOUT S1 T=2 ONLY=1 M_NOLAYOUT
row window NOLAYOUT S8 T=2 M_NOLAYOUT
row window WRAP S1 T=2 ONLY=1 M_WRAP
row window WRAP S7 T=2 ONLY=7 M_WRAP
row window EXEMPT S5 M_EXEMPT
row window INPLACE S5 M_INPLACE
row window STOREDNA S5 M_STOREDNA

# ---- quarantine.pml: one loss of state, S9 ----
small="EPS=0 TM=1 ONEREPLY"
row quarantine "no skew, 2 grants" safe GMAX=2 $small
row quarantine "no skew, 3 grants" safe GMAX=3 $small
row quarantine NOFLOOR S1 ONLY=1 EXACT $small M_NOFLOOR
row quarantine FLOORSHORT S1 ONLY=1 EXACT $small M_FLOORSHORT
row quarantine FLOORSHORT S9 EXACT $small M_FLOORSHORT
row quarantine NOSKEW S1 ONLY=1 EXACT EPS=1 TM=1 ONEREPLY M_NOSKEW
row quarantine JOINERH S1 ONLY=1 EXACT $small M_JOINERH
row quarantine STOREDH S1 ONLY=1 EXACT $small M_STOREDH
row quarantine EXEMPT S1 ONLY=1 EXACT $small M_EXEMPT
row quarantine INPLACE S1 ONLY=1 EXACT EPS=0 TM=2 GMAX=2 ONEREPLY M_INPLACE
row quarantine JOIN S1 ONLY=1 EXACT EPS=0 TM=2 GMAX=2 ONEREPLY M_JOIN
row quarantine STOREDNA S1 ONLY=1 EXACT $small M_STOREDNA
row quarantine FLOORONLY S1 ONLY=1 EXACT $small M_FLOORONLY
row quarantine TRIMLOW S1 ONLY=1 EXACT GMAX=4 $small M_TRIMLOW

[ "$mode" = full ] || return 0

row window "3 ticks" safe T=3
row quarantine "skew 1, 2 grants" safe GMAX=2 EPS=1 TM=1 ONEREPLY
