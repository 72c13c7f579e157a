package coord

import (
	"fmt"
	"unicode/utf8"

	"github.com/unalike-id/unalike/internal/drivers"
)

// Validate tells whether a driver can serve the request at all; every driver
// calls it first. Errors wrap [ErrInvalid] and name the field, its value and what
// is allowed. Until may lie past LastTick; drivers cut it.
func (r Request) Validate() error {
	if err := drivers.CheckName(ErrInvalid, "Request.Token", r.Token, false); err != nil {
		return err
	}
	if err := drivers.CheckName(ErrInvalid, "Request.Identity", r.Identity, true); err != nil {
		return err
	}
	switch {
	case r.Fingerprint == "":
		return fmt.Errorf("%w: Request.Fingerprint is empty; it is the layout as "+
			"core.Layout.String prints it", ErrInvalid)
	case !utf8.ValidString(r.Fingerprint):
		return fmt.Errorf("%w: Request.Fingerprint %q is not valid UTF-8", ErrInvalid, r.Fingerprint)
	case r.Scale.Unit <= 0:
		return fmt.Errorf("%w: Request.Scale.Unit is %d microseconds; it must be positive", ErrInvalid,
			r.Scale.Unit)
	case r.LastTick <= 0:
		return fmt.Errorf("%w: Request.LastTick is %d; it must be positive", ErrInvalid, r.LastTick)
	case r.TTL <= 0:
		return fmt.Errorf("%w: Request.TTL is %v; it must be positive", ErrInvalid, r.TTL)
	case r.Ahead < 0:
		return fmt.Errorf("%w: Request.Ahead is %d ticks; it must not be negative", ErrInvalid, r.Ahead)
	case r.Workers.Count <= 0:
		return fmt.Errorf("%w: Request.Workers.Count is %d; it must be positive", ErrInvalid,
			r.Workers.Count)
	}
	_, err := r.Workers.Within(r.Capacity)
	return err
}
