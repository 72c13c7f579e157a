// Package static is the coordinator for worker IDs that are configured: no
// server, one state file.
//
//	c, err := static.New(7, static.Options{State: "/var/lib/app/unalike.state"})
//
// or, as a URL for coord.Open, with this package imported for its side effect:
//
//	static://?worker=7&state=/var/lib/app/unalike.state
//
// # What it does
//
// Nobody else knows who has which worker ID, so that every process has its own is
// up to whoever configures them. Against everything that happens on one machine
// the state file helps. It holds the end of the window that has been promised to
// the holder, and is on the disk before the window is used. A process that starts
// again begins where that window ended, even if the clock was set back meanwhile:
// it waits. A lock beside the state file keeps a second process from using the
// worker ID at the same time; the refusal names the process that has it.
//
// The window reaches four seconds ahead and is renewed every third of that, so a start
// after a crash waits four seconds at most, and a start after an orderly end not
// at all.
//
// # The state file
//
// There is one for every namespace and worker ID. With [Options].Count above 1,
// or its URL option count, the first worker ID has the file itself and each
// further one a file whose name ends in a point and the worker ID. A file that
// belongs to another namespace or worker ID, that was made with another layout,
// or that is damaged is refused and never overwritten. Beside it lies a lock file,
// with ".lock" at the end; it stays when the process ends, and must not be deleted
// while one runs. The folder must exist.
//
// If the state file is missing, it may have been lost: a start then waits out one
// horizon, which is as far as a predecessor's window can have reached. If it is
// certain that this worker ID is new, [Options].AcceptFresh or the URL option
// fresh=true skips that. Otherwise it is logged. If the file is deleted or replaced
// under a running holder, the next renewal reports the lease lost; acquiring again then
// waits out one horizon, as at a start, and the window that the process knows it had.
//
// List shows what the state files say, and whether their locks are held, to any
// process that may read them; so does "unalike workers". A process that looks keeps
// nobody from starting.
//
// A state file whose window ends more than [MaxHorizon] ahead of the clock is refused:
// either the clock is behind, or a wrong clock pushed the window. In the second case IDs
// of that time may exist, so the way out is another worker ID with a state file of its
// own. With several worker IDs the others are used.
//
// # Several worker IDs
//
// Of the worker IDs that are free, the one is granted whose window opens in time, the
// first if there are several, and otherwise the one that opens first. So a start passes
// over what a crash left, and after a step of the clock backward service goes on with a
// worker ID whose window lies behind the new time. It passes over a state file that was
// lost as well, if another one is there; that is logged if the lock file is left.
//
// # A slow disk
//
// A renewal whose context ends goes on, and the next one waits for its end, or gets what
// it has stored. What was asked for meanwhile is stored behind it. A disk that takes less
// than 1.7 s for a file, and 2.5 s for one now and then, costs no ID with the default
// times; on a slower one a longer horizon helps. A worker ID that is released is released
// even if the context of that call has ended, and Close waits for it. On a full disk the
// window does not grow; service resumes by itself when there is room.
//
// # Resume
//
// A process that knows the grant of one before it can go on in its window with
// Coordinator.Resume, see [coord.Resumer]: the state file has to say the same, and its
// lock shows that the former process is dead. Whoever acquires needs to know nothing, and
// waits for the window's end.
//
// # Without a state file
//
// A start waits as long as a predecessor can have been ahead of the clock, which is
// [MaxAhead], whatever it is configured with itself: a restart with less Lead or less
// RollbackTolerance repeats nothing. A generator that may be further ahead is refused
// without a state file. The same worker ID is refused twice in one process. That is all:
// restarts after a step of the clock and other processes are not protected. Warnings, and
// through it the generator's health, says so.
//
// In both modes the process remembers how far each of its worker IDs has come,
// and with what layout, for as long as it runs. Tests that want a clean slate use
// a namespace of their own.
//
// # What it cannot promise
//
//   - Two machines with the same worker ID issue duplicates, whatever the files say.
//     In Kubernetes, deleting a StatefulSet's pod by force can leave two with one
//     ordinal running.
//   - So do two processes of one machine that are configured with the same worker ID
//     and different state files.
//   - A copied disk or a restored backup of the state file forgets windows.
//   - Locks on network file systems may be kept per machine or not at all. Put the
//     state file on a local disk.
//   - A missing state file is waited out by the clock and the horizon of the process
//     that starts. If the clock was set back or the horizon made shorter since the
//     file was lost, that is not long enough.
package static
