// Package history records the calls that generators make to their coordinator and reports
// whether they fit a coordinator that serves one call at a time, as package coord demands.
//
// [Record] wraps a coordinator and appends the begin and the end of each call to a file,
// which survives the death of the process. [Check] reads the files of all processes that used a
// namespace and looks, for each worker ID, for an order of the calls which fits their times
// and their results.
//
// # The model
//
// A worker ID has a holder, which is a token with a generation, or none; the highest
// generation that was granted; and the tick above which nobody has been allowed to stamp,
// which is called its end here.
//
//   - Acquire grants a generation above all former ones, to anybody at any time, and the window
//     begins at the end or above. Or it repeats the holder's grant, if it has its token.
//   - Renew succeeds for the holder alone. The result ends where the worker ID's end is or
//     later. It begins where the grant did, or above the grant's NotAfter as a separate piece.
//   - Resume is a Renew after which the holder is the new token with the next generation.
//   - Release succeeds for the holder alone and lowers the end to the last tick that was
//     stamped, but not below the NotBefore of the last window or piece that is known.
//   - A Renew or Resume that fails with coord.ErrLeaseLost was not the holder's. A Release may
//     be, if an earlier attempt inside the call has come through. The grant is never held again.
//   - After Retire, nobody acquires or renews.
//
// When a lease ends is not part of the model: the end is what keeps IDs unique, not the
// lease, and operators may revoke a lease at any time. That nobody is granted a worker ID
// whose lease lives is left to the tests of the drivers. The model knows nothing of floors, either,
// and not of what coord/static does without a state file: that relies on clocks.
//
// # Calls that did not succeed
//
// A call that failed, or that has no end because its process was killed, may have been done
// at any later time, or never.
//
//   - Renew: doing it only raises the end, which makes nothing legal that was not legal
//     without it. It is left out.
//   - Release, Resume, Retire: they are calls that return at the end of time and have their
//     effect if the grant is held then.
//   - Acquire: it is not known which worker ID it was about. If it was done, and another
//     call with its token returns the grant later, then that one is in the history. If none does, all
//     that it makes legal is that a former holder is refused. So an Acquire without a result is not a
//     call of any worker ID, but the reason for every ErrLeaseLost after its begin,
//     at each of the worker IDs that it might have chosen.
//
// All of that accepts more than what can have happened, and never less: what is reported as
// illegal is a fault of the coordinator, or of the back end's promises.
package history
