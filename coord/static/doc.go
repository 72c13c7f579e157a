// Package static is the coordinator for worker IDs that are configured: no server, one state file.
//
//	import _ "github.com/unalike-id/unalike/coord/static"
//
//	const url = "static://?worker=7&state=/var/lib/app/unalike.state"
//	ids, err := unalike.Open(ctx, url, unalike.Config{})
//
// # What it does
//
// Nobody else knows who has which worker ID, so that every process has its own is up to whoever
// configures them. Where all processes run on one machine, package file leases them instead.
//
// Against everything that happens on one machine the state file helps. It has the end of the window
// that was promised to the holder, and is on the disk before the window is used. A process that
// starts again begins where that window ended, even if the clock was set back meanwhile: it waits.
// A lock beside the state file keeps a second process from using the worker ID at the same time;
// the refusal names the process that has it.
//
// The window reaches three seconds ahead and is renewed every second, so a start after a crash
// waits three seconds at most, and a start after an orderly end not at all.
//
// # The state file
//
// It keeps a namespace, as a server does, for the worker IDs of this configuration: one, or
// [Options].Count from the first on. "unalike workers, retire, quarantine" work on it, and "unalike
// init --after" closes it when a server takes over. A file that is damaged, of an earlier version,
// of another namespace, first worker ID or layout, or one of file://, is refused and never
// overwritten. Beside it lie lock files, PATH.lock and PATH.N.lock for worker ID N. They stay when
// the process ends, and must not be deleted while one runs. The folder must exist.
//
// If the state file is missing, it may have been lost: a start then waits four seconds, or a second
// longer than the option horizon if that is set, which is as far as a predecessor's window can have
// reached. If it is certain that this worker ID is new, "unalike init", [Options].AcceptFresh or
// the URL option fresh=true spares that. If the file is deleted or replaced under a running holder,
// its next renewal notices, and service goes on after the same wait.
//
// The file goes on after a reboot and on another machine, so that a volume may move with a
// StatefulSet's pod. It works where Go has file locks: Linux, macOS, BSD and Windows. A network
// file system is refused, because a lock there may keep nobody out; Windows, OpenBSD and NetBSD do
// not tell one, so that nothing is refused there.
//
// # Several worker IDs
//
// Of the worker IDs that are free, the one is granted whose window opens in time, the first if
// there are several, and otherwise the one that opens first. So a start passes over what a crash
// left, and after a step of the clock backward service goes on with a worker ID whose window lies
// behind the new time.
//
// # A slow disk
//
// A renewal whose context ends goes on, and the next one waits for its end. A disk that hangs for
// longer than the window reaches costs IDs until it answers; the option horizon makes the window
// longer. On a full disk the window does not grow. Service resumes by itself in both cases.
//
// # Without a state file
//
// A start waits as long as a predecessor can have been ahead of the clock, which is [MaxAhead]. A
// generator that may be further ahead is refused without a state file. The same worker ID is
// refused twice in one process, which remembers how far each of its worker IDs has come. That is
// all: restarts after a step of the clock and other processes are not protected. Warnings, and
// through it the generator's health, says so. Tests that want a clean slate use a namespace of
// their own.
//
// # What it cannot promise
//
//   - Two machines with the same worker ID issue duplicates, whatever the files say. In Kubernetes,
//     deleting a StatefulSet's pod by force can leave two with one ordinal running.
//   - So do two processes of one machine that are configured with the same worker ID and different
//     state files, and one process that gives its worker ID another state file, or none, before the
//     last window is over.
//   - A copied disk or a restored backup of the state file forgets windows, if no process runs that
//     would notice.
//   - A missing state file is waited out by the clock and the horizon of the process that starts.
//     If the clock was set back or the horizon made shorter since the file was lost, that is not
//     long enough.
package static
