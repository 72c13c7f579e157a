// Package journal stores which IDs a generator has issued, in a file that survives the
// death of its process: what [Writer.Add] has returned for is in the file even if the
// process is killed right after it, because the file is mapped into memory that belongs to
// the operating system. It does not survive the death of the machine.
//
// A file holds runs of consecutive IDs, so that a generator at full speed needs a few
// bytes for thousands of IDs. It can be read while it is written. The package needs a Unix
// system.
//
// # The file
//
// All numbers are 8 bytes in the machine's byte order. The first 4096 bytes are the head:
//
//	offset  0  "unalike1"
//	offset  8  how many runs there are
//	offset 16  how many IDs there are, as far as Add has returned
//	offset 24  when the newest of them were added, see Now
//	offset 32  1 once the journal was closed
//	offset 40  the length of the header's JSON, which begins at offset 56
//	offset 48  the checksum of that JSON
//
// From offset 4096 on there are runs of 40 bytes: the fields of [Run], and a seal, which is
// a checksum of these. The last run has no seal, because it still grows, unless the journal
// was closed. The file is longer than its runs need.
package journal
