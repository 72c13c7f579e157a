package coord

import (
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
		return invalid("Request.Fingerprint is empty; it is the layout as " +
			"core.Layout.String prints it")
	case !utf8.ValidString(r.Fingerprint):
		return invalid("Request.Fingerprint %q is not valid UTF-8", r.Fingerprint)
	case r.Scale.Unit <= 0:
		return invalid("Request.Scale.Unit is %d microseconds; it must be positive",
			r.Scale.Unit)
	case r.LastTick <= 0:
		return invalid("Request.LastTick is %d; it must be positive", r.LastTick)
	case r.TTL <= 0:
		return invalid("Request.TTL is %v; it must be positive", r.TTL)
	case r.Ahead < 0:
		return invalid("Request.Ahead is %d ticks; it must not be negative", r.Ahead)
	case r.Workers.Count <= 0:
		return invalid("Request.Workers.Count is %d; it must be positive",
			r.Workers.Count)
	}
	_, err := r.Workers.Within(r.Capacity)
	return err
}
