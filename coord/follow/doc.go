// Package follow lets a namespace go on where another one has ended. This is how a service
// moves to another back end, or to another name, without a duplicate.
//
// [Namespace] does it, for an operator's program that runs while the generators of both
// namespaces are stopped. [EndOf] says before that how far the old namespace has come, and
// which of its worker IDs are held still:
//
//	end, err := follow.EndOf(ctx, prev, layout.Space())
//	if held, ok := errors.AsType[*follow.HeldError](err); ok {
//		// stop the generators that hold held.Slots
//	}
//	floor, err := follow.Namespace(ctx, next, prev, layout.Space())
//
// What a coordinator has to implement beside [coord.Coordinator]:
//
//   - the old one [driver.Lister], or [coord.Admin] if it has a floor or is to be closed;
//   - the new one Admin.
//
// All drivers of this module do, but for coord/static: a static namespace can be followed,
// and cannot follow.
//
// The functions are safe for concurrent use. What two of them do to one namespace at the
// same time is as safe as one after the other, but only one new namespace can follow an old
// one. docs/runbooks/moving.md has the whole procedure, for operators.
package follow
