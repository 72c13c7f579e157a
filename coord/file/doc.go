// Package file is the coordinator for programs of one machine: a file, and no server.
//
//	ids, err := unalike.Open(ctx, "file:///var/lib/app/ids", unalike.Config{})
//
// Package unalike imports this one. The URL is one of these, the second one for a file in the
// working directory:
//
//	file:///var/lib/app/ids?namespace=orders
//	file:orders.ids
//
// # What it does
//
// Any number of processes lease worker IDs from the file, each another one. The file has a
// namespace, as a server has: windows, leases and the floor are decided as on any other back end,
// and "unalike init, workers, retire, quarantine" work on it. Whoever outgrows the machine moves
// to a server with "unalike init --after".
//
// Each renewal, one a second, locks PATH.lock, writes a new file beside the old one, syncs it, puts
// it in the old one's place, and syncs the folder. Windows reach 3 s ahead. So a disk may hang for
// about 2 s without anybody's noticing. After that a generator has no IDs until the disk answers,
// and then goes on by itself.
//
// A lease counts the time since the machine was started, so that no step of the clock ends it. It
// ends 5 s (TTL) after its last renewal, or when the machine is started again.
//
// # Waits
//
//   - A new file needs none. The process that makes it marks PATH.lock first, and each write marks
//     a lock file that has no mark. If the file is missing and PATH.lock has a mark, the file was
//     lost: nothing is granted for 4 s, and "unalike init" does not shorten that. By then the
//     windows are over that it may have had.
//   - A start after a crash takes another worker ID at once. If there is no other, it is told when
//     the lease ends, which takes at most a TTL.
//
// # Where it works
//
// On Linux, macOS and FreeBSD, on a disk of the machine. Users with the right to write to its
// directory share the file. A write keeps the owner and the mode, as far as its user may set them.
//
// Containers of one machine share a file if they share its folder, as a volume or a mount, whatever
// PID namespaces and machine IDs they have. These are refused, with an error that says what to do:
//
//   - a network file system (NFS, SMB, and others that are known by their kind), because a lock
//     there may keep nobody out;
//   - a file that another machine has written: a volume that moved or that two nodes share, or a
//     copy. "unalike quarantine" takes it over, once no program uses it there. A machine without a
//     machine ID (/etc/machine-id on Linux), as many containers are, cannot tell its own next start
//     from another machine, and needs that command after each;
//   - a file that is damaged, of another namespace, of another layout, or of an earlier version;
//   - Windows, and other systems that do not tell one start of the machine from another. Use
//     static:// there.
//
// # What it cannot promise
//
//   - A copy of the machine, or of the file, that is used at the same time on another path.
//   - An older copy of the file that is put back when no process runs, and less than a TTL after
//     it was made: call "unalike quarantine" before the first start. The same holds for a process
//     that starts within a second after a copy was put back, before the others have renewed.
//   - A lock file that is deleted at the moment in which a process replaces the file, or together
//     with the file while IDs of the last 4 s are in use: leave PATH.lock in place.
package file
