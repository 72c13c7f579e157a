package config

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/driver"
)

// opened is what the driver of a test was asked to open, and how often what it made was closed.
type opened struct {
	fake    *coordtest.Fake
	mu      sync.Mutex
	urls    []string
	states  []string
	closed  atomic.Int64
	fail    error
	blocked chan struct{} // not nil: opening takes until it is closed
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
	driver.Register("test", func(ctx context.Context, u *driver.URL) (coord.Coordinator, error) {
		o, _ := tests.Load(u.Hosts[0])
		return o.(*opened).open(ctx, u)
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

func (o *opened) open(ctx context.Context, u *driver.URL) (coord.Coordinator, error) {
	o.mu.Lock()
	o.urls, o.states = append(o.urls, u.String()), append(o.states, cmp.Or(u.State, u.Option("state")))
	blocked, fail := o.blocked, o.fail
	o.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if fail != nil {
		return nil, fail
	}
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
		if err := g.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := o.states[len(o.states)-1]; got != file {
			t.Errorf("%s: the driver is given %q, want %q", what, got, file)
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

// TestStateFileIsShared: generators of one process with the same coordinator and the same state
// file share the coordinator, which the last of them closes; those of different ones cannot.
func TestStateFileIsShared(t *testing.T) {
	begin, o := testDriver(t)
	file := filepath.Join(t.TempDir(), "state")
	cfg := Config{Coordinator: begin + "/ns", State: file}
	one, err := cfg.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two, err := cfg.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(o.urls) != 1 || one.Coordinator() != two.Coordinator() {
		t.Errorf("opened was %q", o.urls)
	}
	_, err = Config{Coordinator: begin + "/other", State: file}.Open(t.Context())
	checkInvalid(t, err,
		"is in use in this process by a generator with another coordinator's URL or other lease times; "+
			"give each coordinator and namespace a state file of its own")
	_, err = Config{Coordinator: begin + "/ns", State: filepath.Dir(file) +
		"//state"}.Open(t.Context())
	checkInvalid(t, err, "is in use in this process") // the same file by another name
	for range 2 {
		if err := one.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := two.Next(); err != nil || o.closed.Load() != 0 {
		t.Errorf("the other one: %v, closed %d times", err, o.closed.Load())
	}
	if err := two.Close(t.Context()); err != nil || o.closed.Load() != 1 {
		t.Errorf("%v, closed %d times", err, o.closed.Load())
	}
	three, err := cfg.Open(t.Context())
	if err != nil || len(o.urls) != 2 {
		t.Fatalf("after the last Close: %v, opened %q", err, o.urls)
	}
	if err := three.Close(t.Context()); err != nil || o.closed.Load() != 2 {
		t.Errorf("%v, closed %d times", err, o.closed.Load())
	}
}

// TestStateFileOpening: of generators of one state file that start together, one that gives up,
// first or second, leaves the others all their time; and a coordinator that could not be opened is
// tried again.
func TestStateFileOpening(t *testing.T) {
	begin, o := testDriver(t)
	cfg := Config{Coordinator: begin + "/ns", State: filepath.Join(t.TempDir(), "state")}
	synctest.Test(t, func(t *testing.T) {
		start := func(ctx context.Context) <-chan error {
			ended := make(chan error, 1)
			go func() {
				g, err := cfg.Start(ctx)
				if err == nil {
					err = g.Close(t.Context())
				}
				ended <- err
			}()
			synctest.Wait()
			return ended
		}
		for _, fail := range []error{errors.New("not now"), nil} {
			o.blocked, o.fail = make(chan struct{}), fail
			first, cancelFirst := context.WithCancel(t.Context())
			later, cancelLater := context.WithCancel(t.Context())
			one, two, three := start(first), start(later), start(t.Context())
			cancelLater()
			if err := <-two; !errors.Is(err, context.Canceled) {
				t.Errorf("while it is being opened: %v", err)
			}
			cancelFirst()
			if err := <-one; !errors.Is(err, context.Canceled) {
				t.Errorf("the first one: %v", err)
			}
			synctest.Wait()
			close(o.blocked)
			if err := <-three; !errors.Is(err, fail) {
				t.Errorf("the third one: %v, want %v", err, fail)
			}
		}
		if o.closed.Load() != 1 || len(o.urls) != 4 {
			t.Errorf("closed %d times, opened %q", o.closed.Load(), o.urls)
		}
	})
}

// TestStateLease: with a state file, the coordinator's times are those of the keys, and of the URL.
func TestStateLease(t *testing.T) {
	begin, _ := testDriver(t)
	file := filepath.Join(t.TempDir(), "state")
	text := "coordinator: " + begin + "/ns?ttl=20s\nstate: " + file +
		"\nttl: 20s\nhorizon: 1m30s\nrenew: 1s\n"
	cfg, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := cfg.OpenOptions(cfg.Coordinator, "here")
	lease := coord.LeaseConfig{
		TTL: 20 * time.Second, Horizon: 90 * time.Second,
		RenewEvery: time.Second,
	}
	if want := (coord.OpenOptions{State: file, Lease: lease}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	cfg.State = ""
	inURL, err := cfg.OpenOptions(begin+"/ns?state="+url.QueryEscape(file), "here")
	if err != nil || inURL != got {
		t.Errorf("with the file in the URL: %+v, %v; want %+v", inURL, err, got)
	}
	if got, err := cfg.OpenOptions(cfg.Coordinator, "here"); err != nil ||
		got != (coord.OpenOptions{}) {
		t.Errorf("without a state file: %+v, %v", got, err)
	}
}
