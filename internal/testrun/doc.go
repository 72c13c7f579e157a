// Command testrun runs `go test` and says what a person who waits wants to know: a line as each
// package ends, with its seconds; what has been running, after 20 s in which nothing ended; and at
// the end the slowest tests, what takes longer than the project allows itself, and every server
// that was missing, with the command that gets it.
//
//	go run ./internal/testrun [-rule FILE] [-C FOLDER] -- ARGUMENTS OF GO TEST
//
// If up to three tests fail, their packages run again, each alone: a machine that is busy with
// others fails nothing. The last lines list each test that passes then, as "FLAKY", package and
// test with tabs between them. Such a test has a mistake, too. A data race, a panic, a violation
// that package safetytest reports, and a package that does not end as it should are never forgiven.
//
// The exit code is that of go test, unless what failed passes alone. With -rule, tests over 5 s
// that are not in the file, and packages over 30 s, are warned about; a slow machine fails nothing.
package main
