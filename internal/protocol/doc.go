// Package protocol has what the drivers with a key-value store have in common: the
// records that they keep for a namespace and for a worker ID, how these are written
// and read, and the steps of the protocol of package coord that are arithmetic on
// records. Where a record lies, what makes a step atomic and what became of a
// call without an answer is up to the driver.
//
// Nothing here makes a call or reads a clock. Times are microseconds since 1970.
package protocol
