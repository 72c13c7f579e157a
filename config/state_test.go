package config

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/driver"
)

// opened is what the driver of a test was asked to open, and how often what it made was closed.
type opened struct {
	fake   *coordtest.Fake
	mu     sync.Mutex
	urls   []string
	closed atomic.Int64
}

// counted counts how often it is closed.
type counted struct {
	*coordtest.FakeClient
	closed *atomic.Int64
}

func (c counted) Close() error {
	c.closed.Add(1)
	return c.FakeClient.Close()
}

// tests are the drivers of the tests that run, by the host in the URL.
var tests sync.Map

func init() {
	driver.Register("test", func(_ context.Context, u *driver.URL) (coord.Coordinator, error) {
		o, _ := tests.Load(u.Hosts[0])
		return o.(*opened).open(u)
	})
}

// testDriver returns the driver of a test, and how its URLs begin.
func testDriver(t *testing.T) (begin string, o *opened) {
	t.Helper()
	host := strings.ToLower(t.Name())
	o = &opened{fake: coordtest.NewFake(coordtest.FakeConfig{})}
	tests.Store(host, o)
	return "test://" + host, o
}

func (o *opened) open(u *driver.URL) (coord.Coordinator, error) {
	o.mu.Lock()
	o.urls = append(o.urls, u.String())
	o.mu.Unlock()
	if _, err := u.Lease(); err != nil {
		return nil, err
	}
	return counted{o.fake.Client(), &o.closed}, nil
}

// TestStateDoors: the file, the environment and the URL name a state file in the same way.
func TestStateDoors(t *testing.T) {
	begin, o := testDriver(t)
	folder := filepath.Join(t.TempDir(), "a folder & more")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "s@+%.state")
	inURL := begin + "/ns?ttl=20s&state=" + url.QueryEscape(file)
	for what, c := range map[string]struct {
		yaml string
		env  map[string]string
	}{
		"the URL": {"coordinator: " + inURL, nil},
		"the key": {"coordinator: " + begin + "/ns?ttl=20s\nstate: " + file, nil},
		"the variable": {
			"coordinator: " + begin + "/ns?ttl=20s",
			map[string]string{"UNALIKE_STATE": file},
		},
		"the variable over a key": {
			"coordinator: " + inURL + "\nstate: " + file + "2",
			map[string]string{"UNALIKE_STATE": file},
		},
	} {
		cfg, err := Parse([]byte(c.yaml))
		if err == nil {
			cfg, err = cfg.WithEnv(lookupIn(c.env))
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		g, err := cfg.Open(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !g.Health().Workers[0].StateFile {
			t.Errorf("%s: the generator has no state file", what)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.Remove(file); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := o.closed.Load(); n != 4 {
		t.Errorf("%d coordinators were closed, of 4", n)
	}
}

// TestBadState: a state file that is named in two places, or where there can be none, is refused,
// with the places.
func TestBadState(t *testing.T) {
	begin, o := testDriver(t)
	dir := t.TempDir()
	good, other := filepath.Join(dir, "good"), filepath.Join(dir, "other")
	for _, tt := range []struct {
		coordinator, state string
		want               []string
	}{
		{
			begin + "/ns?state=" + other, good,
			[]string{
				"config: line 2: state is", good, "the URL of line 1: coordinator has state=", other,
				"name the file in one place, or the same in both",
			},
		},
		{
			"static://?worker=7", good,
			[]string{
				"config: line 2: state is",
				"a static coordinator leases no worker ID that such a file could keep",
				"static://?worker=7&state=FILE",
			},
		},
		{
			begin + "/ns", filepath.Join(dir, "none", "file"),
			[]string{"config: line 2: state is", "none", "its folder does not exist; create it"},
		},
		{
			begin + "/ns?state=" + filepath.Join(dir, "none", "file"), "",
			[]string{"config: line 1: coordinator: option state: ", "its folder does not exist; create it"},
		},
		{
			begin + "/ns?state=relative", "",
			[]string{"config: line 1: coordinator: option state: ", `"relative": the path is relative`},
		},
		{
			strings.Replace(begin, "://", "://user:secret@", 1) + "/ns", filepath.Join(dir, "none", "file"),
			[]string{"its folder does not exist"},
		},
	} {
		text := "coordinator: " + tt.coordinator
		if tt.state != "" {
			text += "\nstate: " + tt.state
		}
		cfg, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		_, err = cfg.Open(t.Context())
		checkInvalid(t, err, tt.want...)
	}
	if len(o.urls) > 0 {
		t.Errorf("opened was %q", o.urls)
	}
	_, err := Parse([]byte("state: relative.state"))
	checkInvalid(t, err, `config: line 1: state is "relative.state": it is the absolute path of a `+
		"file, for example /var/lib/orders/unalike.state")
}

// TestStateFile_OneGenerator: a state file serves one generator at a time, and the next one says
// which process it waits for.
func TestStateFile_OneGenerator(t *testing.T) {
	begin, o := testDriver(t)
	cfg := Config{Coordinator: begin + "/ns"}
	cfg.StateFile = filepath.Join(t.TempDir(), "state")
	one, err := cfg.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err = cfg.Open(short); err == nil || !strings.Contains(err.Error(), "it is in use by") {
		t.Errorf("the second one: %v", err)
	}
	if err := one.Close(t.Context()); err != nil {
		t.Error(err)
	}
	again, err := cfg.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil || o.closed.Load() != 3 {
		t.Errorf("%v, %d coordinators closed", err, o.closed.Load())
	}
}

// TestConfig_WithStateFile: the state file is that of the key, or of the URL, which is returned
// without it.
func TestConfig_WithStateFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	inKey := Config{}
	inKey.StateFile = file
	for _, tt := range []struct {
		cfg             Config
		url, rest, want string
	}{
		{Config{}, "etcd://h/ns?ttl=20s", "etcd://h/ns?ttl=20s", ""},
		{Config{}, "etcd://h/ns?ttl=20s&state=" + url.QueryEscape(file), "etcd://h/ns?ttl=20s", file},
		{inKey, "etcd://h/ns", "etcd://h/ns", file},
		{inKey, "etcd://h/ns?state=" + url.QueryEscape(file), "etcd://h/ns", file},
		{Config{}, "static://?state=x&worker=7", "static://?state=x&worker=7", ""},
	} {
		rest, cfg, err := tt.cfg.WithStateFile(tt.url, "here")
		if err != nil || rest != tt.rest || cfg.StateFile != tt.want {
			t.Errorf("%s: %s, %q, %v; want %s, %q", tt.url, rest, cfg.StateFile, err, tt.rest, tt.want)
		}
	}
}
