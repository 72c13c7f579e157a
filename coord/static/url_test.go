package static

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// testMachine is a host of the given name and addresses, with a few environment
// variables.
func testMachine(host string, addresses ...string) machine {
	env := map[string]string{"WORKER": "12", "EMPTY": ""}
	return machine{
		hostname: func() (string, error) {
			if host == "" {
				return "", errors.New("no host name")
			}
			return host, nil
		},
		lookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		addresses: func() ([]netip.Addr, error) {
			var out []netip.Addr
			for _, a := range addresses {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		},
	}
}

func openURL(t *testing.T, m machine, rawURL string) (*coordinator, error) {
	t.Helper()
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := opener{m}.open(t.Context(), u)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*coordinator), nil
}

func TestURL(t *testing.T) {
	m := testMachine("web-3.web.default.svc.cluster.local")
	c, err := openURL(t, m,
		"static://?worker=5&state=/var/lib/a+b%2Fc&namespace=orders&count=2&fresh=true&ttl=20s"+
			"&horizon=4s&renew=2s")
	if err != nil {
		t.Fatal(err)
	}
	want := Options{
		Namespace: "orders", State: "/var/lib/a b/c", AcceptFresh: true, Count: 2, Logger: c.opts.Logger,
		Clock: clock.System(),
		Lease: coord.LeaseConfig{
			TTL: 20 * time.Second, Horizon: 4 * time.Second,
			RenewEvery: 2 * time.Second,
		},
	}
	if c.opts != want || c.source.first != 5 {
		t.Errorf("options are %+v, worker %d; want %+v, worker 5", c.opts, c.source.first, want)
	}
}

func TestURLWorker(t *testing.T) {
	for _, tt := range []struct {
		options string
		machine machine
		want    int64
	}{
		{"worker=0", machine{}, 0},
		{"worker=1023", machine{}, 1023},
		{"worker=env:WORKER", testMachine("h"), 12},
		{"worker=hostname", testMachine("web-3"), 3},
		{"worker=hostname", testMachine("a-b-10.example.com"), 10},
		{"worker=hostname&count=4", testMachine("web-3"), 12},
		{"worker=env:WORKER&count=4", testMachine("h"), 12},
		{"worker=ip", testMachine("h", "127.0.0.1", "10.1.2.3", "8.8.8.8", "fe80::1"), 2<<8 | 3},
		{"worker=ip", testMachine("h", "192.168.255.255"), 1023},
		{"worker=ip", testMachine("h", "::ffff:172.16.0.9", "172.16.0.9"), 9},
	} {
		c, err := openURL(t, tt.machine, "static://?"+tt.options)
		if err != nil {
			t.Errorf("%s: %v", tt.options, err)
			continue
		}
		first, err := c.workers(request("a", 0))
		if err != nil || int64(first.First) != tt.want {
			t.Errorf("%s: worker IDs %v, %v; want %d", tt.options, first, err, tt.want)
		}
	}
}

// TestBadURL has every wrong form of a URL, with its message.
func TestBadURL(t *testing.T) {
	const (
		forms  = "it is a decimal number, env:NAME, hostname, or ip"
		ending = "it must end in a minus sign and a number, as StatefulSets name their pods"
	)
	for _, tt := range []struct{ host, url, want string }{
		{"", "static://", `option worker is missing; ` + forms},
		{"", "static://?worker=", `option worker is missing; ` + forms},
		{"", "static://?worker=007", `option worker is "007"; ` + forms +
			`: a leading zero is not allowed`},
		{"", "static://?worker=%207", `option worker is " 7"; ` + forms + `: ' ' is not a decimal digit`},
		{"", "static://?worker=-1", `option worker is "-1"; ` + forms + `: '-' is not a decimal digit`},
		{
			"", "static://?worker=%D9%A7",
			`option worker is "٧"; ` + forms + `: '٧' is not a decimal digit`,
		},
		{"", "static://?worker=2147483648", `option worker is "2147483648"; ` + forms +
			`: the largest possible worker ID is 2147483647`},
		{"", "static://?worker=env:", `option worker is "env:"; the name of an environment variable ` +
			`must follow`},
		{
			"", "static://?worker=env:NONE",
			`option worker is "env:NONE" and the environment variable NONE ` +
				`is not set; set it to a decimal number`,
		},
		{
			"", "static://?worker=env:EMPTY",
			`option worker is "env:EMPTY" and the environment variable EMPTY ` +
				`is ""; set it to a decimal number: there are no digits`,
		},
		{"", "static://?worker=7&state=", `option state is empty; name a file, or leave the option out`},
		{
			"", "static://?worker=7&count=0",
			`option count is "0"; it is the number of worker IDs, at least 1`,
		},
		{"", "static://?worker=7&fresh=yes", `option fresh is "yes"; it is true or false`},
		{
			"", "static://user:geheim@?worker=7",
			`there is a user or password; write static://?worker=7 without one`,
		},
		{"", "static://host?worker=7", `there is a host, "host"; a static coordinator has none, ` +
			`write static://?worker=7`},
		{"", "static:///var/lib/state?worker=7", `there is a path, "/var/lib/state"; ` +
			`write static://?worker=7, and the state file as the option state`},
		{"", "static://?worker=7&file=x", `unknown option "file"; ` +
			`known are count, fresh, horizon, namespace, renew, state, ttl, worker`},
		{"", "static://?worker=7&horizon=10", `option horizon is "10"; ` +
			`it is a positive duration with a unit, for example 15s`},
		{
			"", "static://?worker=hostname",
			`option worker is hostname and the host's name cannot be read: no host name`,
		},
		{
			"web", "static://?worker=hostname",
			`option worker is hostname and the host's name is "web"; ` + ending,
		},
		{
			"web-a1", "static://?worker=hostname",
			`option worker is hostname and the host's name is "web-a1"; ` +
				ending + `: 'a' is not a decimal digit`,
		},
		{
			"web-2", "static://?worker=hostname&count=2000000000",
			`worker is 4000000000 and count is 2000000000; the largest possible worker ID is 2147483647`,
		},
		{
			"", "static://?worker=ip&count=2",
			`count is 2; an address gives one worker ID only, so it must be 1 with worker=ip`,
		},
		{"", "static://?worker=7&namespace=..", `namespace ".." is reserved; choose another name`},
		{
			"", "static://?worker=7&horizon=3s&renew=5s",
			`RenewEvery is 5s; it must be at most half of Horizon, which is 3s`,
		},
	} {
		_, err := openURL(t, testMachine(tt.host), tt.url)
		if !errors.Is(err, coord.ErrInvalid) || strings.Contains(err.Error(), "geheim") ||
			err.Error() != "unalike: invalid static URL: "+tt.want &&
				err.Error() != "unalike: invalid: "+tt.want {
			t.Errorf("%s: %v; want %s", tt.url, err, tt.want)
		}
	}
}

// TestBadAddresses: an address has to be the only private one.
func TestBadAddresses(t *testing.T) {
	for _, tt := range []struct {
		addresses []string
		want      string
	}{
		{nil, `unalike: invalid: worker is ip and this machine has no private IPv4 address; set worker ` +
			`to a number`},
		{
			[]string{"8.8.8.8", "fd00::1"},
			`unalike: invalid: worker is ip and this machine has no private IPv4 address; set worker ` +
				`to a number`,
		},
		{
			[]string{"10.0.0.5", "172.17.0.1"},
			`unalike: invalid: worker is ip and this machine has 2 private IPv4 addresses, 10.0.0.5, ` +
				`172.17.0.1; set worker to a number`,
		},
	} {
		c, err := openURL(t, testMachine("h", tt.addresses...), "static://?worker=ip")
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Acquire(t.Context(), request("a", 0))
		refused(t, err, coord.ErrInvalid, tt.want)
	}
}

// TestThisMachine: the real sources answer, whatever they say.
func TestThisMachine(t *testing.T) {
	m := thisMachine()
	if name, err := m.hostname(); err != nil || name == "" {
		t.Errorf("hostname: %q, %v", name, err)
	}
	addresses, err := m.addresses()
	if err != nil {
		t.Errorf("addresses: %v", err)
	}
	for _, a := range addresses {
		if !a.IsValid() || a.IsLoopback() {
			t.Errorf("address %v is listed", a)
		}
	}
}
