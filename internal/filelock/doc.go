// Package filelock locks a file, so that one process at a time does what the lock
// is for. The operating system frees the lock when the process ends, however it
// ends: a lock is never left behind.
//
// The lock keeps out others in the same process as well. It is for local file
// systems: on a network file system it may keep nobody out.
package filelock
