// Package filestore keeps a namespace in one file, for all processes of a machine. It is the
// store of coord/file and coord/static, and the example for those who write another one.
//
// It decides nothing. Whoever only looks reads the file. Whoever changes something locks PATH.lock,
// reads the file, and writes a new one in its place: after a crash at any point one of the two is
// there, whole. The lock is the operating system's, so that it ends with its process. It is never
// broken by age: a process that is stopped inside it stops the others, and their errors name it.
package filestore
