// Package settings has the parts of package config that the command needs as well: the names of the
// keys, and how a file and single values are read.
package settings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/spelling"
)

const (
	// EnvPrefix begins the names of all variables.
	EnvPrefix = "UNALIKE_"
	// MaxFile is the size of the largest file, in bytes.
	MaxFile = 64 << 10
)

// Keys are the keys of a file in the order in which they are documented.
var Keys = []string{
	"coordinator", "state", "layout", "ttl", "horizon", "renew", "worker_ids", "identity",
	"rollback_tolerance", "lead", "spread_below", "stripes", "start_timeout", "store", "segments",
	"formats", "max_step", "hold", "year_start", "zone",
}

// EnvName returns the variable for a key.
func EnvName(key string) string { return EnvPrefix + strings.ToUpper(key) }

// CheckEnv returns an error if the environment has variables that are nearly those of settings, as
// UNALIKE_WORKERIDS is, and names those that were meant. Others that begin alike are none of its
// business: Kubernetes sets UNALIKE_PORT where there is a Service of that name. Only variables that
// lookup, which is os.LookupEnv or something like it, has as well are looked at. The error wraps
// [coord.ErrInvalid].
func CheckEnv(lookup func(name string) (value string, ok bool)) error {
	var errs []error
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		upper := strings.ToUpper(name)
		key, ours := strings.CutPrefix(upper, EnvPrefix)
		if seen, ok := lookup(name); !ours || !ok || seen == "" {
			continue
		}
		key = strings.ToLower(key)
		if read, _ := lookup(upper); slices.Contains(Keys, key) && read == value {
			continue // the system may make no difference between capitals and small letters
		}
		if meant := spelling.Word(key, Keys, min(2, len(key)/3)); meant != "" { //mutant:misspelt
			errs = append(errs, Invalid("config: %s is set and is no setting; did you mean %s?", name,
				EnvName(meant)))
		}
	}
	return errors.Join(errs...)
}

// ReadFile returns the contents of a file, or a little more than MaxFile of them.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// ParseZone reads the value of the key zone: the name of a time zone.
func ParseZone(v string) (*time.Location, error) {
	zone, err := time.LoadLocation(v)
	if err != nil || v == "" || v == "Local" {
		return nil, errors.New("it is the name of a time zone that this machine knows, for example UTC " +
			"or Europe/Berlin")
	}
	return zone, nil
}

// mistake is a mistake in the settings: a [coord.ErrInvalid] whose text begins with the place.
type mistake struct{ error }

// Unwrap returns [coord.ErrInvalid] and the mistake.
func (e mistake) Unwrap() []error { return []error{coord.ErrInvalid, e.error} }

// Invalid returns an error that wraps [coord.ErrInvalid] without repeating its text.
func Invalid(format string, args ...any) error { return mistake{fmt.Errorf(format, args...)} }
