// Package starters tests what happens when as many generators start at once as there
// are worker IDs, in one process and in many, on real servers, beside busy programs:
// all of them must get a worker ID, no two the same one, and one more is refused.
package starters
