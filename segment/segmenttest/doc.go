// Package segmenttest has the conformance suite that every store of package segment passes, and a
// store in memory for tests.
package segmenttest
