// Mutants checks the checks: it breaks the code in one place at a time, and demands that each
// test named for it fails. Run it from the module's root:
//
//	go run ./internal/mutants [-for 5m] [NAME ...]
//
// What there is to break stands in list.tsv: each invariant of the protocol, each trap of a
// client, and the bugs of the past that docs/bugs.tsv names by their mutant. The place is a
// comment in the code, //mutant:NAME, at the end of a line or alone on the line before, so that
// it survives new lines around it; the edit is A => B: the text A, which is once on that line,
// becomes B.
//
// With -for, it takes the mutants of files that the last commits changed first, and then
// others, until the time is over. Without it, it tries all of them.
//
// No source is touched: the go command builds the changed file from an overlay. A mutant is
// noticed if its test fails, and passes on the unchanged code beside the same load. A test
// that does not end counts only for a mutant whose effect is a hang. A mutant that was not noticed
// is tried once more.
package main
