// Package follow lets a namespace go on where another one has ended. This is how a service
// moves to another back end, or to another name, without a duplicate.
//
// [Namespace] does it, for an operator's program that runs while the generators of both namespaces
// are stopped. [EndOf] says before that how far the old namespace has come, and which of its worker
// IDs are held still. Both coordinators have to be a [coord.AdminCoordinator], as those of all
// drivers of this module are. A static coordinator needs a state file for it.
//
// The functions are safe for concurrent use. What two of them do to one namespace at the
// same time is as safe as one after the other, but only one new namespace can follow an old
// one. docs/runbooks/moving.md has the whole procedure, for operators.
package follow
