// Package local keeps what a coordinator has granted in a state file, so that a process that
// is started again goes on while its back end is away:
//
//	o := coord.OpenOptions{State: "/var/lib/app/unalike.state"}
//	c, err := coord.Open(ctx, "etcd://h1:2379,h2:2379/orders", o)
//
// The option state of the URL says the same. A window that was granted stays the holder's until it
// ends, whoever runs. The file says what was granted, and how much of it may have been stamped.
//
// # The two windows
//
// What [New] returns is a coordinator between a generator and a back end. To the back end it is
// the holder of a window as long as the horizon, which it renews at its own times, behind the
// generator's back. To the generator it grants short windows out of that, of 3 s: their end is
// the mark, which is on the disk before it is granted, so that nothing above the mark in the
// file was ever stamped. A generator writes the file about once a second.
//
// # The rules
//
//   - Lock. The file itself is locked while it is in use, and written in place: whoever has the
//     lock knows that its former owner is dead. Two records with checksums are written by turns.
//     If one of them cannot be read, nobody knows what it said, and the file is not used. Network
//     file systems are refused where they can be recognised.
//   - Mark. A window after a restart begins above the mark, never where the back end says that
//     the window began. What the back end grants above a raised floor is a piece of its own, in
//     the file as in the generator: what lies between was never granted.
//   - Given back means dead. A grant is used only while no release of it can have been sent: it
//     is taken out of the file first. A release trims the window, and one that arrives late
//     would trim what is still in use. So where the last renewal has failed, a generator that is
//     closed is parked: its last tick becomes the mark, and nothing is sent.
//   - Taking over is Resume, with a new token. The token is in the file before it is sent, and
//     stays there until an answer comes. Nothing is acquired with a token that is in the file:
//     the answer would be the window from its beginning.
//   - A worker ID is in the file once at most. What is granted anew replaces what was there, and
//     begins above its mark.
//   - Copies are not used. A file whose device, inode, machine or boot differs, or that was
//     changed at another time than its record says, is left alone, and another worker ID is
//     leased. So after the machine was started again, the back end is needed, and where the
//     system does not tell that (Windows), always.
//   - A disk that fails or hangs is like a back end that does not answer: IDs go on to the mark
//     that is stored, then the error names the file, and service returns when the disk answers.
//     No worker ID is leased that the file does not name. A file that was deleted or replaced
//     meanwhile is made anew.
//   - Identity. The place of the namespace ([coord.Description]), its nonce, layout and share of
//     worker IDs are compared before anything is used, without the back end too.
package local
