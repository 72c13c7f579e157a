// Package peers measures unalike beside other generators of unique IDs, all in one
// run, so that ratios hold on any machine.
//
//	make bench-quick
//	go test -C benchmarks/peers -run '^$' -bench . -count 6
//
// Each generator has an adapter in a file of its own, which says what can be compared
// and what cannot. Snowflake generators are set to the same layouts: 41 bits of
// milliseconds, 4 bits of worker ID and 18 bits of sequence (262,144,000 IDs a second,
// more than any of them can make, so that the code is what is measured), and the
// default of 41/10/12 (4,096,000 a second, which all of them reach, so that the
// layout's ceiling is). The others make IDs of 96 to 128 bits from random numbers,
// which is a different promise at another price; they are here for orientation.
//
// The package is a module of its own, so that nobody who uses unalike depends on any
// of this.
package peers
