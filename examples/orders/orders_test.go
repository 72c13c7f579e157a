//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// backend is one that the service can be moved to. Another one is another line.
type backend struct {
	name string
	// start starts a server where one is needed and returns the URL of a new namespace.
	start  func(t *testing.T) string
	leases bool // gives replicas worker IDs of their own
}

var backends = []backend{
	{"static", func(t *testing.T) string {
		// A window that outlasts what a slow machine does to a replica, and no wait for one
		// that may have been lost.
		return "static://?worker=7&fresh=true&horizon=1m&state=" + filepath.Join(t.TempDir(), "state")
	}, false},
	{"etcd", func(t *testing.T) string {
		return "etcd://" + etcdtest.Start(t).Endpoint + "/orders"
	}, true},
	{"redis", func(t *testing.T) string {
		// Without being declared new, a namespace waits for half a minute.
		url := "redis://" + redistest.Start(t, redistest.Options{}).Addr + "/0?namespace=orders"
		declare(t, url)
		return url
	}, true},
	{"zookeeper", func(t *testing.T) string {
		return "zk://" + zktest.Start(t, zktest.Options{}).Addr + "?namespace=orders"
	}, true},
	{"postgres", func(t *testing.T) string {
		return pgtest.Start(t).URL() + "?accept=fsync&namespace=orders"
	}, true},
	{"mysql", func(t *testing.T) string {
		return "mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + mysqltest.Start(t).Addr() +
			"/" + mysqltest.Database + "?namespace=orders"
	}, true},
	{"kubernetes", func(t *testing.T) string {
		s := kubetest.Start(t)
		return "kubernetes+http://" + s.Proxy(t) + "?namespace=orders&in=" + s.Namespace(t)
	}, true},
	{"file", func(t *testing.T) string {
		url := "file://" + filepath.ToSlash(filepath.Join(t.TempDir(), "ids"))
		declare(t, url)
		return url
	}, true},
	{"embedded etcd", func(t *testing.T) string {
		return "embed://" + filepath.ToSlash(filepath.Join(t.TempDir(), "etcd"))
	}, true},
}

// build builds the service once; TestMain removes it.
var (
	builtIn string
	build   = sync.OnceValues(func() (string, error) {
		path := filepath.Join(builtIn, "orders")
		out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return path, nil
	})
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if builtIn, err = os.MkdirTemp("", "orders-test-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(builtIn) }() // a leftover in the temporary folder
		return leaktest.Run(m)
	}())
}

// service is a running replica.
type service struct {
	*proctest.Process
	cmd *exec.Cmd
	url string
	log *proctest.Output
}

// configure writes a settings file, which differs from another one in its line alone.
func configure(t *testing.T, coordinator string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "unalike.yaml")
	if err := os.WriteFile(path, []byte("coordinator: "+coordinator+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)\s`)

// listen starts a replica and returns when it listens.
func listen(t *testing.T, file string, more ...string) *service {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := &service{cmd: exec.Command(path, append([]string{"-config", file, "-listen", "127.0.0.1:0"},
		more...)...), log: &proctest.Output{}}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "UNALIKE_") {
			s.cmd.Env = append(s.cmd.Env, v)
		}
	}
	s.cmd.Stderr = s.log
	s.Process = proctest.Start(t, s.cmd)
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("the log of %s:\n%s", file, s.log)
		}
	})
	s.await(t, func() bool {
		found := listening.FindStringSubmatch(s.log.String())
		if found != nil {
			s.url = "http://" + found[1]
		}
		return found != nil
	})
	return s
}

// await waits until something is so of a service that does not end.
func (s *service) await(t *testing.T, so func() bool) {
	t.Helper()
	proctest.Eventually(t, time.Minute, "the service serves", func() bool { return s.Ended() || so() })
	if s.Ended() {
		t.Fatal("the service ended before it served")
	}
}

// serve starts a replica and returns when it has a worker ID.
func serve(t *testing.T, file string, more ...string) *service {
	t.Helper()
	s := listen(t, file, more...)
	s.await(t, func() bool {
		code, _ := s.get(t, http.MethodGet, "/ready")
		return code == http.StatusOK
	})
	return s
}

// get asks the service and returns the status and the body.
func (s *service) get(t *testing.T, method, path string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// order places an order and returns its number.
func (s *service) order(t *testing.T) core.ID {
	t.Helper()
	code, body := s.get(t, http.MethodPost, "/orders")
	var o struct{ ID core.ID }
	if err := json.Unmarshal(body, &o); err != nil || code != http.StatusCreated {
		t.Fatalf("status %d, %s, %v", code, body, err)
	}
	return o.ID
}

// stop asks the service to end, and holds it to a clean exit.
func (s *service) stop(t *testing.T) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	s.Terminate(t)
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// worker returns the worker ID in an ID.
func worker(id core.ID) int { return core.DefaultLayout().Decompose(id).WorkerID }

// with opens a coordinator for as long as something is done with it.
func with(t *testing.T, url string, do func(coord.Coordinator) error) {
	t.Helper()
	c, err := coord.Open(t.Context(), url, coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := do(c); err != nil {
		t.Fatal(err)
	}
}

// slots returns what the namespace holds.
func slots(t *testing.T, url string) (found []coord.Slot) {
	t.Helper()
	with(t, url, func(c coord.Coordinator) (err error) {
		found, err = c.(coord.AdminCoordinator).List(t.Context())
		return err
	})
	return found
}

// declare does what `unalike init` does.
func declare(t *testing.T, url string) {
	t.Helper()
	with(t, url, func(c coord.Coordinator) error {
		return c.(coord.AdminCoordinator).Init(t.Context(), core.DefaultLayout().Space())
	})
}

// TestService runs as many replicas as the back end can tell apart.
func TestService(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			url := b.start(t)
			file := configure(t, url)
			replicas := []*service{serve(t, file)}
			if b.leases {
				replicas = append(replicas, serve(t, file))
			}
			seen, workers := map[core.ID]bool{}, map[int]bool{}
			for range 200 {
				for _, s := range replicas {
					id := s.order(t)
					if seen[id] {
						safetytest.Of(t).Fatalf("%d was given twice", id)
					}
					seen[id], workers[worker(id)] = true, true
				}
			}
			if len(workers) != len(replicas) {
				t.Errorf("%d replicas have the worker IDs %v", len(replicas), workers)
			}
			for _, s := range replicas {
				if code, body := s.get(t, http.MethodGet, "/ready"); code != http.StatusOK {
					t.Errorf("ready: status %d, %s", code, body)
				}
				code, body := s.get(t, http.MethodGet, "/health")
				var h struct{ Healthy bool }
				if err := json.Unmarshal(body, &h); err != nil || code != http.StatusOK || !h.Healthy {
					t.Errorf("health: status %d, %s, %v", code, body, err)
				}
			}
			for _, s := range replicas {
				s.stop(t)
			}
			for _, slot := range slots(t, url) {
				if slot.State != coord.SlotFree {
					t.Errorf("after the end: %+v", slot)
				}
			}
		})
	}
}

// TestRestartInAnOutage: with a state file, a replica that is killed and started again while its
// back end is away goes on, with the same worker ID and above its last number.
func TestRestartInAnOutage(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	file := configure(t, "etcd://"+etcd.Endpoint+"/orders?horizon=2m")
	state := filepath.Join(t.TempDir(), "unalike.state")
	s := serve(t, file, "-state", state)
	last := s.order(t)
	etcd.Kill()
	s.Kill()
	s = serve(t, file, "-state", state)
	for range 10 {
		id := s.order(t)
		if id <= last || worker(id) != worker(last) {
			safetytest.Of(t).Fatalf("%d of worker ID %d after %d of worker ID %d", id, worker(id), last,
				worker(last))
		}
		last = id
	}
	s.stop(t)
	s = serve(t, file, "-state", state)
	if id := s.order(t); id <= last {
		safetytest.Of(t).Errorf("%d after %d", id, last)
	}
	s.stop(t)
}

// TestNotReady: a replica that has no worker ID yet says so.
func TestNotReady(t *testing.T) {
	back, err := net.Listen("tcp", "127.0.0.1:0") // where nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	s := listen(t, configure(t, "zk://"+back.Addr().String()+"?namespace=orders"))
	for path, method := range map[string]string{"/ready": http.MethodGet, "/orders": http.MethodPost} {
		if code, body := s.get(t, method, path); code != http.StatusServiceUnavailable ||
			!strings.Contains(string(body), "not started yet") {
			t.Errorf("%s: status %d, %s", path, code, body)
		}
	}
}

// TestLogIsTheServicesOwn: while its back end is down, the service logs what it wants to,
// and no client library anything beside that.
func TestLogIsTheServicesOwn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil { // nobody is there
		t.Fatal(err)
	}
	for name, url := range map[string]string{
		"redis": "redis://" + addr + "/0?namespace=orders", "sentinel": "redis-sentinel://" + addr +
			"/m/0?namespace=orders", "cluster": "redis-cluster://" + addr + "?namespace=orders",
		"etcd": "etcd://" + addr + "/orders", "zookeeper": "zk://" + addr + "?namespace=orders",
		"postgres": "postgres://u@" + addr + "/db?namespace=orders", "mysql": "mysql://u@" + addr +
			"/db?namespace=orders",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := listen(t, configure(t, url))
			s.await(t, func() bool {
				_, why := s.get(t, http.MethodGet, "/ready")
				return bytes.Contains(why, []byte("no worker ID: "))
			})
			s.stop(t)
			for line := range strings.Lines(s.log.String()) {
				if !strings.HasPrefix(line, "time=") {
					t.Errorf("somebody else has logged %q", line)
				}
			}
		})
	}
}

// TestMove moves the service between all back ends whose namespaces can follow others,
// by changing its line.
func TestMove(t *testing.T) {
	for i, from := range backends {
		for j, to := range backends {
			if away := (j - i + len(backends)) % len(backends); away > fulltest.Rounds(2, len(backends)) {
				continue // in the full length, each pair; here, each to three
			}
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				t.Parallel()
				before, after := from.start(t), to.start(t)
				if !moveTo(t, after, before, false) {
					t.Skipf("a namespace of %s cannot follow another one", to.name)
				}
				s := serve(t, configure(t, before))
				last := s.order(t)
				s.stop(t)
				moveTo(t, after, before, true)
				s = serve(t, configure(t, after))
				for range 100 {
					id := s.order(t)
					if id <= last {
						safetytest.Of(t).Fatalf("%d after %d", id, last)
					}
					last = id
				}
				s.stop(t)
			})
		}
	}
}

// moveTo does what `unalike init --coordinator NEXT --after PREV` does, or without doIt
// tells whether it could.
func moveTo(t *testing.T, next, prev string, doIt bool) (ok bool) {
	t.Helper()
	with(t, next, func(n coord.Coordinator) error {
		if _, ok = n.(coord.AdminCoordinator); ok && doIt {
			with(t, prev, func(p coord.Coordinator) error {
				_, err := follow.Namespace(t.Context(), n, p, core.DefaultLayout().Space())
				return err
			})
		}
		return nil
	})
	return ok
}

// TestMistakes: what is wrong with the settings is said in the log, and ends the service.
func TestMistakes(t *testing.T) {
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "-config",
		configure(t, "etcd4://user:secret@host/orders")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "unknown scheme") ||
		strings.Contains(string(out), "secret") {
		t.Errorf("%v: %s", err, out)
	}
}
