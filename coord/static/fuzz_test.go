package static

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// FuzzWorker: whatever the worker option, a variable and the host's name say, the worker ID
// is one that is written there in plain digits.
func FuzzWorker(f *testing.F) {
	for _, s := range []string{
		"", "0", "7", "007", "-1", "+1", "0x7", " 7", "1e3", "7.0", "٣",
		"2147483647", "2147483648", "env:", "env:WORKER", "hostname", "ip", "web-3.cluster", "web-",
		"web-03",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, option, outside string) {
		m := machine{
			hostname:  func() (string, error) { return outside, nil },
			lookupEnv: func(string) (string, bool) { return outside, true },
			addresses: func() ([]netip.Addr, error) {
				a, err := netip.ParseAddr(outside)
				return []netip.Addr{a}, err
			},
		}
		for _, count := range []int{1, 3, math.MaxInt32} {
			src, err := parseWorker(option, count, m)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "option worker is ") {
					t.Errorf("%q and %q: %v", option, outside, err)
				}
				return
			}
			if src.ip {
				if n, err := src.resolve(1024); err == nil && (n < 0 || n >= 1024) {
					t.Errorf("the address %q gives worker ID %d", outside, n)
				}
				return
			}
			digits := strconv.FormatInt(src.first, 10)
			if count == 1 && (src.first < 0 || src.first > math.MaxInt32 || option != digits &&
				!strings.Contains(outside, digits)) {
				t.Errorf("%q and %q give worker ID %d", option, outside, src.first)
			}
			if src.check(count) == nil && (src.first < 0 || src.first+int64(count)-1 > math.MaxInt32) {
				t.Errorf("%q and %q give the worker IDs from %d on, %d of them", option, outside, src.first,
					count)
			}
		}
	})
}

// FuzzURL: a URL is refused as invalid, or gives a coordinator.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"static://?worker=7",
		"static://?worker=5&state=/var/lib/a+b%2Fc&namespace=orders&count=2&fresh=true&ttl=20s" +
			"&horizon=4s&renew=2s", "static://h?worker=7",
		"static:///p?worker=7", "static://u@?worker=7", "static://?worker=7&count=0",
		"static://?worker=7&fresh=yes", "static://?worker=7&worker=8",
		"static://?worker=2147483647&count=2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := driver.ParseURL(s)
		if err != nil || u.Scheme != "static" {
			return
		}
		c, err := opener{machine{lookupEnv: os.LookupEnv, hostname: func() (string, error) {
			return "web-3", nil
		}}}.open(t.Context(), u)
		if err != nil {
			if !errors.Is(err, coord.ErrInvalid) || c != nil {
				t.Errorf("%q: %v, %v", s, c, err)
			}
			return
		}
		if _, err := coord.Describe(c).Rules.Resolve(coord.LeaseConfig{}); err != nil {
			t.Errorf("%q is accepted, and its times are not: %v", s, err)
		}
		_ = c.Close()
	})
}
