package coord

import "context"

// Resumer is implemented by coordinators with which a holder's successor can go on in the
// window of a grant, under another token.
type Resumer interface {
	// Resume takes over the grant g for an acquisition with another token, and extends its
	// window to the tick until. The result has that token and generation + 1, and after it
	// every Renew and Release of g is refused with [ErrLeaseLost].
	//
	// Whoever calls it has proved that the former holder is dead, by a locked file for
	// example, and stamps only above the last tick that the former holder can have
	// stamped: never at NotBefore of the result, which is that of g. A Release of the result
	// passes that tick at least. In all else it is a renewal: it never lowers the end of the window, a
	// floor above g.NotAfter makes the result a separate piece, and errors are those of Renew. If the
	// outcome is unknown, the slot has either token; both windows are the caller's, and asking again
	// with g or with the new token finds out which one.
	Resume(ctx context.Context, g Grant, token string, until int64) (Grant, error)
}
