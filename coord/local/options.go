package local

import (
	"log/slog"
	"time"
)

const (
	// DefaultWindow is how far ahead of the clock a holder may stamp before the state file is
	// written again, and so the longest wait of a start after a crash.
	DefaultWindow = 3 * time.Second
	// MinWindow is the shortest one: a write to a disk may take longer.
	MinWindow = 300 * time.Millisecond
	// MaxWindow is the longest one.
	MaxWindow = time.Minute
	// DiskTimeout is how long a start waits for the back end before it goes on with the file.
	DiskTimeout = time.Second
)

// Options are the settings of [New] beyond the file. The zero Options works.
type Options struct {
	// Window is how far ahead of the clock the stored mark reaches, from [MinWindow] to
	// [MaxWindow]. A holder writes the file about every 5/12 of it. 0: [DefaultWindow].
	Window time.Duration
	// Place names the namespace of a coordinator that does not know it ([coord.Description]); see
	// there what it has to contain. Without one, the file is not used without the back end.
	Place string
	// Logger receives what an operator may want to know. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}
