package filesys

import "time"

// Stamp is what a file system says of a file that a copy of it does not have.
type Stamp struct {
	Device, Inode uint64
	Links         uint64    // names that the file has
	Changed       time.Time // when the file or what is known of it was changed last; nobody can set it
}
