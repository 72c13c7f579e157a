// Package frozen checks the checks: it breaks the protocol in one place at a time,
// in every way in which generators are known to have been broken, and demands that
// the test named for it fails.
//
// The sources are not touched: the go command builds the changed file from an
// overlay. Each mutant is built and tested by itself, so all of them take minutes;
// they run only if UNALIKE_MUTANTS is set, which make frozen does. They are frozen: when
// a line is written anew, its mutant stays, and is reported as one whose text is gone. At
// the end stands what a mutant of each package costs.
//
// A mutant counts as noticed if its test fails, and passes on the unchanged code beside
// the same load. A test that does not end counts only for a mutant whose effect is a
// hang, and which says so.
package frozen
