package coord

import (
	"fmt"
	"log/slog"

	"github.com/unalike-id/unalike/internal/drivers"
)

// Grant is what a coordinator hands out: a worker ID and the window of ticks in
// which its holder may stamp. It is a value; a renewal returns a new one.
type Grant struct {
	// WorkerID is the leased worker ID.
	WorkerID int
	// Generation is the fencing number of the worker ID: it goes up with every new
	// grant and stays the same through renewals.
	Generation uint64
	// Token is the token of the acquisition that this grant came from.
	Token string
	// NotBefore and NotAfter bound the window (NotBefore, NotAfter], in ticks. The
	// window is empty if they are equal.
	NotBefore, NotAfter int64
	// Handle is the driver's own; callers pass it back unchanged.
	Handle any
}

// CheckResume reports whether the grant can be resumed with a token. Drivers whose coordinators
// have Resume call it. Errors wrap [ErrInvalid].
func (g Grant) CheckResume(token string) error {
	if err := drivers.CheckName(ErrInvalid, "Resume: token", token, false); err != nil {
		return err
	}
	if token == g.Token {
		return invalid("Resume: the token is that of the grant; it must be a new one")
	}
	return nil
}

// String prints the grant for logs: worker ID, generation and window.
func (g Grant) String() string {
	return fmt.Sprintf("worker ID %d, generation %d, window (%d, %d]", g.WorkerID, g.Generation,
		g.NotBefore, g.NotAfter)
}

// LogValue implements [slog.LogValuer]. The token is not in it: whoever has that can go on
// as the holder, and logs are read by many.
func (g Grant) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Int("workerID", g.WorkerID), //mutant:grant-token-logged
		slog.Uint64("generation", g.Generation),
		slog.Int64("notBefore", g.NotBefore),
		slog.Int64("notAfter", g.NotAfter),
	)
}
