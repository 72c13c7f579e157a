# The rows of check.sh: row model, name, expected, defines.
#
# A name in capitals is a mutant, and README.md says what it does. With ONLY=n just invariant n is watched; so ONLY=1
# shows that the mutant ends in a duplicate ID, whatever else it breaks on the way. tiny=yes: the search is shorter than an
# optimising compiler would take.

# ---- window.pml: free clocks, S1 to S8 ----
row window "2 ticks" safe T=2
row window "2 ticks, 3 requests" safe T=2 R=3 ONEREPLY
row window "3 ticks, 1 reply" safe T=3 ONEREPLY
row window "dead holder resumed" safe T=2 RESUME
tiny=yes
row window NBCLOCK S1 ONLY=1 M_NBCLOCK
row window EARLY S1 ONLY=1 M_EARLY
row window INCLUSIVE S1 ONLY=1 M_INCLUSIVE
row window TTLKEY S1 ONLY=1 M_TTLKEY
row window NOCLOSE S1 ONLY=1 M_NOCLOSE
row window RESUME S1 ONLY=1 M_RESUME
row window CLONE S1 ONLY=1 M_CLONE
row window RESUMENB S1 ONLY=1 RESUME M_RESUMENB T=2
row window GIVENBACK S1 ONLY=1 RESUME M_GIVENBACK T=2
row window EXEMPT S5 M_EXEMPT
row window STOREDNA S5 M_STOREDNA
tiny=no
row window NOOWNER S1 ONLY=1 M_NOOWNER
row window NOGEN S1 ONLY=1 M_NOGEN
row window NOMAX S1 ONLY=1 M_NOMAX
row window "identity as owner" safe T=2 M_IDENTITY
row window IDENTITY+NOGEN S1 ONLY=1 M_IDENTITY M_NOGEN
row window "version check alone" safe T=2 GENONLY
row window NOLAYOUT S1 T=2 ONLY=1 M_NOLAYOUT
row window WRAP S1 T=2 ONLY=1 M_WRAP

# ---- quarantine.pml: one loss of state, S9 ----
small="EPS=0 TM=1 ONEREPLY"
row quarantine "two horizons" safe GMAX=2 $small
row quarantine "longer time" safe GMAX=2 EPS=0 TM=2 MAXH=1 ONEREPLY
row quarantine "declared horizon" safe GMAX=2 MAXH=1 DECL=2 $small
tiny=yes
row quarantine NOFLOOR S1 ONLY=1 EXACT $small M_NOFLOOR
row quarantine FLOORSHORT S1 ONLY=1 EXACT $small M_FLOORSHORT
row quarantine NOSKEW S1 ONLY=1 EXACT EPS=1 TM=1 ONEREPLY M_NOSKEW
row quarantine JOINERH S1 ONLY=1 EXACT $small M_JOINERH
row quarantine STOREDH S1 ONLY=1 EXACT $small M_STOREDH
row quarantine OWNH S1 ONLY=1 EXACT MAXH=1 DECL=2 $small M_OWNH
row quarantine UNREMEMBERED S1 ONLY=1 EXACT MAXH=1 DECL=2 $small M_UNREMEMBERED
tiny=no
row quarantine EXEMPT S1 ONLY=1 EXACT $small M_EXEMPT
row quarantine INPLACE S1 ONLY=1 EXACT EPS=0 TM=2 GMAX=2 MAXH=1 ONEREPLY M_INPLACE
row quarantine JOIN S1 ONLY=1 EXACT EPS=0 TM=2 GMAX=2 MAXH=1 ONEREPLY M_JOIN
row quarantine STOREDNA S1 ONLY=1 EXACT $small M_STOREDNA
row quarantine FLOORONLY S1 ONLY=1 EXACT $small M_FLOORONLY
row quarantine TRIMLOW S1 ONLY=1 EXACT GMAX=4 MAXH=1 $small M_TRIMLOW
row quarantine GENONLY S1 ONLY=1 EXACT GMAX=2 $small M_GENONLY

# ---- loss.pml: who notices a loss, by what, and what is done about it: S9 again, and L3 ----
row loss "two losses" safe TM=1
row loss "carried evidence" safe TM=1 CARRIED
row loss "skew 1" safe TM=1 EPS=1 LOSSES=1
row loss "stragglers" safe TM=1 LOSSES=1 OUTAGE
row loss "moved, rights first" safe TM=1 LOSSES=1 MOVE=0
row loss "declared horizon" safe TM=1 LOSSES=1 DECL=2
tiny=yes
row loss "made again" safe TM=1 CARRIED REMADE
row loss "floor that went back" safe TM=1 LOSSES=1 FOLLOWS=3 WHOLE
row loss "lowered floor" safe TM=1 LOSSES=1 LOWER
row loss "slow requests" safe TM=1 SLOW=1
row loss "declared, made again" safe TM=1 LOSSES=1 CARRIED REMADE DECL=2
row loss OWNH S1 ONLY=1 TM=1 LOSSES=1 DECL=2 M_OWNH
row loss UNREMEMBERED S1 ONLY=1 TM=1 LOSSES=1 CARRIED REMADE DECL=2 M_UNREMEMBERED
row loss SAMEGEN S1 ONLY=1 TM=1 CARRIED M_SAMEGEN
row loss NONCE S1 ONLY=1 TM=1 CARRIED REMADE M_NONCE
row loss HIGHER S1 ONLY=1 TM=1 CARRIED M_HIGHER
row loss LONGER S1 ONLY=1 TM=1 CARRIED M_LONGER
row loss FORGETS S1 ONLY=1 TM=1 LOSSES=1 FOLLOWS=3 WHOLE M_FORGETS
row loss NOCLAMP S1 ONLY=1 TM=1 M_NOCLAMP
row loss LOWERED S1 ONLY=1 TM=1 LOSSES=1 LOWER M_LOWERED
row loss NOTIME S1 ONLY=1 TM=1 M_NOTIME
row loss NOMARGIN S1 ONLY=1 TM=1 M_NOMARGIN
row loss BELOW S1 ONLY=1 TM=1 M_BELOW
row loss ANYFLOOR S1 ONLY=1 TM=2 LOSSES=1 OPERATOR=2 M_ANYFLOOR
row loss LATE S1 ONLY=1 TM=1 SLOW=1 M_LATE
row loss BYFLOOR S1 ONLY=1 TM=2 SLOW=1 M_BYFLOOR
row loss AGAIN L3 TM=1 LOSSES=1 OUTAGE M_AGAIN
# What cannot be had: the old back end of a namespace that was moved forgets that it was closed. Not a mutant.
row loss MOVED+FORGOTTEN S1 ONLY=1 TM=1 LOSSES=1 MOVE=1
# Nor can this: a namespace is deleted twice, and nobody who notices that remembers what it was declared with. Not a mutant.
row loss DECLARED+FORGOTTEN S1 ONLY=1 TM=1 CARRIED REMADE DECL=2
tiny=no

# ---- term.pml: the inside of one generator, S1, S2 and S6 ----
row term "3 terms, 2 ticks" safe T=2
tiny=yes
row term NOCLOSE S1 ONLY=1 T=2 M_NOCLOSE
row term NOCLOSE S6 ONLY=6 T=2 M_NOCLOSE
row term LATECLOSE S1 ONLY=1 T=2 M_LATECLOSE
row term PAIR S2 ONLY=2 T=2 M_PAIR
row term ONEWORD S6 ONLY=6 T=2 M_ONEWORD

# ---- objects.pml: a store that changes one object at a time, S1 and S5. It is long for a compiler. ----
tiny=yes
row objects "floor" safe
row objects "late writes" safe LATE=0
row objects "closed" safe CLOSES
row objects "deleted" safe DELETED
row objects "put back" safe PUTBACK
row objects "restored" safe RESTORED
row objects "record undone" safe CLOSES UNDONE
row objects NOREAD S5 M_NOREAD
row objects NOSEEN S5 CLOSES UNDONE M_NOSEEN
row objects NOUID S1 ONLY=1 PUTBACK M_NOUID
row objects NOFLOOR S1 ONLY=1 DELETED M_NOFLOOR
row objects NOMARK S1 ONLY=1 DELETED M_NOMARK
row objects REMARK S1 ONLY=1 DELETED M_REMARK

# ---- away.pml: state files, W1 to W7 ----
one="R=1 PLAIN FLOORMAX=0"
row away "two files" safe R=1 FLOORMAX=0
row away "late requests" safe R=2 PLAIN FLOORMAX=0
row away "pieces" safe R=1 PLAIN FLOORMAX=1
row away "copies, other names" safe $one COPIES NAMESPACES LAYOUTS
tiny=yes
row away "one file" safe R=1 ONEFILE
row away "order" safe $one ORDER
row away "made anew" safe $one REMAKE
row away NOLOCK S1 ONLY=1 R=1 FLOORMAX=0 ONEFILE M_NOLOCK
row away LOCKFILE S1 ONLY=1 R=1 FLOORMAX=0 ONEFILE M_LOCKFILE
row away TORN S1 ONLY=1 $one M_TORN
row away MARKLATE S1 ONLY=1 $one M_MARKLATE
row away RESTARTNB S1 ONLY=1 $one M_RESTARTNB
row away HULL S1 ONLY=1 R=1 PLAIN FLOORMAX=1 M_HULL
row away OVERTAKEN S1 ONLY=1 $one M_OVERTAKEN
row away PARKOPEN S1 ONLY=1 $one M_PARKOPEN
row away GIVENLATE S1 ONLY=1 $one M_GIVENLATE
row away UNDO S1 ONLY=1 $one M_UNDO
row away UNDEAD S1 ONLY=1 $one M_UNDEAD
row away REACQUIRE S1 ONLY=1 $one M_REACQUIRE
row away TAKETRIM S1 ONLY=1 $one M_TAKETRIM
row away TOKENLATE W4 $one M_TOKENLATE
row away FORGETTOKEN W4 $one M_FORGETTOKEN
row away NEWESTFIRST W4 R=2 K=3 PLAIN FLOORMAX=0 NEWTOKENS M_NEWESTFIRST
row away COPY S1 ONLY=1 $one COPIES M_COPY
row away BOOT S1 ONLY=1 $one REBOOT M_BOOT
row away NAMESPACE S1 ONLY=1 $one NAMESPACES M_NAMESPACE
row away LAYOUT S1 ONLY=1 $one LAYOUTS M_LAYOUT
row away NONCE S1 ONLY=1 $one REMAKE M_NONCE
# What is not guaranteed: a file system that went back below a running kernel; a namespace that was made anew, and a start
# with an old file that does not reach the coordinator. Not mutants.
row away REVERTED S1 ONLY=1 $one REVERT
row away REMADE+AWAY S1 ONLY=1 $one KEPT

# ---- liveness.pml: bounded clocks, L1 and L2 ----
short="LEASE=2 HORIZON=3"
tiny=no
row liveness "no loss of state" safe NOLOSS $short
row liveness "long lease" safe NOLOSS LEASE=6 HORIZON=3
row liveness "losses of state" safe $short
row liveness "raised by a process" safe RAISER LEASE=2 HORIZON=2
tiny=yes
row liveness TIGHT L2 NOLOSS TIGHT $short
row liveness TIGHT L2 NOLOSS TIGHT LEASE=6 HORIZON=3
row liveness TIGHT L2 TIGHT $short
row liveness TIGHT L2 TIGHT RAISER LEASE=2 HORIZON=2
row liveness NOCLAMP L2 M_NOCLAMP RAISER LEASE=2 HORIZON=2
row liveness SHORTHORIZON L1 NOLOSS ONLY_L1 LEASE=4 RENEW=3 HORIZON=3
row liveness REFLOOR L2 M_REFLOOR $short
row liveness NORESUME L2 NOLOSS M_NORESUME $short
row liveness RATCHET L2 NOLOSS M_RATCHET $short
row liveness FARCLOCK L2 NOLOSS M_FARCLOCK $short

[ "$mode" = full ] || return 0

tiny=no
# ---- What some mutants break before they end in a duplicate. ----
row window EARLY S3 M_EARLY
row window NOCLOSE S6 ONLY=6 M_NOCLOSE
row window NOLAYOUT S8 T=2 ONLY=8 M_NOLAYOUT
row window WRAP S7 T=2 ONLY=7 M_WRAP
row quarantine FLOORSHORT S9 EXACT $small M_FLOORSHORT

# ---- The rule for stragglers is needed too where no number is seen without the namespace's record. ----
row loss NOTIME S1 ONLY=1 TM=1 LOSSES=3 WHOLE M_NOTIME
row loss NOMARGIN S1 ONLY=1 TM=1 LOSSES=3 WHOLE M_NOMARGIN

# ---- The large bounds. ----
row window "3 ticks" safe T=3
row window "3 ticks, 3 requests" safe T=3 R=3 ONEREPLY
row window "4 ticks, 1 reply" safe T=4 ONEREPLY
row window "3 ticks, identity" safe T=3 ONEREPLY M_IDENTITY
row window "3 ticks, dead resumed" safe T=3 RESUME ONEREPLY
row quarantine "3 grants" safe GMAX=3 $small
row quarantine "same grant repeated" safe GMAX=3 SAMEGRANT $small
row quarantine "longer time, 2 horizons" safe GMAX=2 EPS=0 TM=2 ONEREPLY
row quarantine "skew 1, all is lost" safe GMAX=2 MAXH=1 FLUSH EPS=1 TM=1 ONEREPLY
row quarantine "skew 1, 2 horizons" safe GMAX=2 EPS=1 TM=1 ONEREPLY
row loss "longer time" safe TM=2
row loss "stragglers, two losses" safe TM=1 OUTAGE
row loss "operator's floor" safe TM=2 LOSSES=1 OPERATOR=2
row loss "three losses" safe TM=1 LOSSES=3
row loss "slow, longer time" safe TM=2 SLOW=1
row loss "slow, skew 1" safe TM=1 SLOW=1 EPS=1 LOSSES=1
row loss "operator, two losses" safe TM=1 OPERATOR=4
row loss "lowered, two losses" safe TM=1 LOWER
row loss "moved, two losses" safe TM=1 MOVE=0
row away "two files, pieces" safe R=1
row away "two files, late" safe R=2 FLOORMAX=0
row away "pieces, late" safe R=2 FLOORMAX=1
row away "a new token each" safe R=2 K=3 PLAIN FLOORMAX=0 NEWTOKENS
row away "3 ticks" safe T=3 R=1 FLOORMAX=0
row away "3 ticks, pieces" safe T=3 R=1 PLAIN FLOORMAX=2
row away "one file, late" safe R=2 ONEFILE
row away "rebooted" safe $one REBOOT
row away "order, two files" safe R=1 FLOORMAX=0 ORDER
tiny=yes
row objects "two raisers" safe RAISERS=2
row objects "late, deleted" safe LATE=2 DELETED UIDS=2
row objects "record first" safe CLOSES M_METAFIRST
tiny=no
row term "3 terms, 3 ticks" safe T=3
row term "4 terms, 3 ticks" safe T=3 TERMS=4
row liveness "longer horizon" safe LEASE=3 HORIZON=5
row liveness "renewal every 2" safe LEASE=5 RENEW=2 HORIZON=4
