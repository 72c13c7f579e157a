//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// envAttack has the test program attack a service: mode, address, connections, remote addresses.
const envAttack = "UNALIKE_TEST_ATTACK"

// enough is how many requests of a caller tell whether it is served.
const enough = 20

// attackMemory is the memory of a pod in the chart.
const attackMemory = 256 << 20

// TestServe_AttacksHeavy: without a token, 1,200 connections from few addresses take nothing from
// callers with one, nor from a probe, and do not use up the memory. If they come from very many
// addresses, or the process has few descriptors, one new connection in a hundred may fail. Where
// other programs run, one request in twenty may.
func TestServe_AttacksHeavy(t *testing.T) {
	fulltest.Heavy(t, "1,200 connections take the processors from everybody")
	span := time.Duration(fulltest.Rounds(5, 60)) * time.Second
	for name := range attacks {
		for _, tt := range []struct {
			conns, from, files int
		}{{1200, 4, 0}, {1200, 1200, 0}, {80, 1, 64}} {
			if tt.from != 4 && name != "h2 health" && name != "slow body" && name != "h2 reset" &&
				os.Getenv("UNALIKE_FULL") == "" {
				continue // much the same as from few addresses
			}
			t.Run(fmt.Sprintf("%s/%d/%d", name, tt.conns, tt.from), func(t *testing.T) {
				s, token := startAttacked(t, tt.files), "token-of-a-good-caller"
				proctest.Eventually(t, time.Minute, "the service is ready", func() bool {
					status, _ := s.get(defaultIDs, token)
					return status == http.StatusOK
				})
				s.client.CloseIdleConnections()
				attack(t, strings.TrimPrefix(s.url, "http://"), name, tt.conns, tt.from)
				var good [3]*goodCaller
				var work sync.WaitGroup
				for i, path := range []string{defaultIDs, defaultIDs, "/readyz"} {
					good[i] = newGoodCaller(s.url+path, []string{token, token, ""}[i], i > 0)
					work.Go(func() { good[i].run(t.Context(), span) })
				}
				work.Wait()
				for i, g := range good {
					few := 0
					switch {
					case !fulltest.Quiet(): // a service that gets no processor cannot answer
						few = g.asked/20 + 1
					case i > 0 && tt.from != 4:
						few = g.asked/100 + 1
					}
					if g.asked == 0 || g.failed > few || i == 0 && g.dialled.Load() > int64(1+few) {
						t.Errorf("caller %d: %d of %d requests failed over %d connections: %v", i, g.failed,
							g.asked, g.dialled.Load(), g.err)
					}
				}
				s.kill() // streams that nobody reads would be waited for
			})
		}
	}
}

// startAttacked starts a service with a token, in a control group with little memory if there can
// be one.
func startAttacked(t *testing.T, files int) *served {
	t.Helper()
	script := `exec "$0" "$@"`
	if files > 0 {
		script = fmt.Sprintf("ulimit -n %d; ", files) + script
	}
	if group := memoryGroup(t); group != "" {
		script = "echo $$ >" + group + "/cgroup.procs; " + script
	}
	config := writeFile(t, "serve.yaml", fmt.Sprintf("coordinator: static://?worker=7&fresh=true\n"+
		"tokens: [{file: %s, may: [generate]}]\n", writeFile(t, "token", "token-of-a-good-caller")))
	return startServeAs(t, func(c *exec.Cmd) {
		c.Args = append([]string{"sh", "-c", script, c.Path}, c.Args[1:]...)
		c.Path = "/bin/sh"
		c.Env = append(c.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", attackMemory/10*9))
	}, "--config", config)
}

// memoryGroup makes a control group whose processes may have attackMemory; empty: there can be
// none.
func memoryGroup(t *testing.T) string {
	t.Helper()
	for root, limit := range map[string]string{
		"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max",
	} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			continue
		}
		group, err := os.MkdirTemp(root, "unalike-test-") //nolint:usetesting // a control group
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(group) }) // the service has ended
		if os.WriteFile(filepath.Join(group, limit), []byte(strconv.Itoa(attackMemory)), 0o600) == nil {
			return group
		}
	}
	t.Log("the memory has no bound: a control group cannot be made")
	return ""
}

// goodCaller asks again and again.
type goodCaller struct {
	url, token    string
	client        *http.Client
	dialled       atomic.Int64
	asked, failed int
	err           error
}

func newGoodCaller(url, token string, fresh bool) *goodCaller {
	g := &goodCaller{url: url, token: token}
	g.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: fresh,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			g.dialled.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}}
	return g
}

// run asks for a time.
func (g *goodCaller) run(ctx context.Context, span time.Duration) {
	defer g.client.CloseIdleConnections()
	end := time.Now().Add(span)
	// A machine that is too slow for enough requests takes longer.
	for (time.Now().Before(end) || g.asked < enough) && lifetime.Sleep(ctx, 20*time.Millisecond) {
		g.asked++
		if err := g.ask(ctx); err != nil {
			g.failed, g.err = g.failed+1, err
		}
	}
}

func (g *goodCaller) ask(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url, http.NoBody)
	if err != nil {
		return err
	}
	if g.token != "" {
		req.Header.Set("Authorization", "Bearer "+g.token)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	return nil
}

// attack has another process attack a service until the test ends.
func attack(t *testing.T, addr, mode string, conns, from int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		from = 1 // only there, all of 127.0.0.0/8 is this machine
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out proctest.Output
	// Those who attack have processors of their own elsewhere. Here they get what the service leaves.
	c := exec.Command("nice", "-n", "19", self, "-test.run=^TestAttacker$", "-test.v")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%s,%d,%d", envAttack, mode, addr, conns, from))
	c.Stdout, c.Stderr = &out, &out
	proctest.Start(t, c)
	proctest.Eventually(t, time.Minute, "the attack begins", func() bool {
		return strings.Contains(out.String(), "attacking")
	})
}

// TestAttacker is the process that attacks.
func TestAttacker(t *testing.T) {
	settings := strings.Split(os.Getenv(envAttack), ",")
	if len(settings) != 4 {
		t.Skip("it is no test: TestServe_AttacksHeavy runs it")
	}
	conns, _ := strconv.Atoi(settings[2])
	from, _ := strconv.Atoi(settings[3])
	var dialled atomic.Int64
	for i := range conns {
		go func() {
			for {
				k := i % from
				d := net.Dialer{Timeout: 2 * time.Second}
				if from > 1 {
					d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 1, byte(k/250), byte(1+k%250))}
				}
				if conn, err := d.DialContext(t.Context(), "tcp", settings[1]); err == nil {
					dialled.Add(1)
					attacks[settings[0]](conn)
					_ = conn.Close()
				}
				lifetime.Sleep(t.Context(), 50*time.Millisecond)
			}
		}()
	}
	proctest.Eventually(t, time.Minute, "connections", func() bool { return dialled.Load() > 0 })
	fmt.Println("attacking")
	select {} // until it is killed
}

// attacks are what a caller without a token can do with a connection.
var attacks = map[string]func(net.Conn){
	"idle": says(""),
	"slow header": repeats("GET "+defaultIDs+" HTTP/1.1\r\nHost: localhost\r\nX-A: ", "a",
		time.Second/2),
	"slow body": says("POST " + defaultIDs +
		" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"),
	"page": says("GET /page/events HTTP/1.1\r\nHost: localhost\r\n\r\n"),
	"big header": repeats("GET / HTTP/1.1\r\nHost: localhost\r\n",
		strings.Repeat("X-A: "+strings.Repeat("q", 500)+"\r\n", 10), 0),
	"pipeline": repeats("", strings.Repeat("GET "+defaultIDs+
		"?count=256 HTTP/1.1\r\nHost: localhost\r\n\r\n", 50), 0),
	"greedy": func(conn net.Conn) {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		repeats("", "GET "+defaultIDs+"?count=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n", 0)(conn)
	},
	"h2 health": func(conn net.Conn) {
		h := newAttacker(conn, 1<<16)
		_ = h.post("/grpc.health.v1.Health/Watch", "")
		_ = h.WriteData(1, true, make([]byte, 5))
		_, _ = io.Copy(io.Discard, conn)
	},
	"h2 slow body": func(conn net.Conn) {
		h := newAttacker(conn, 1<<16)
		for h.post("/grpc.health.v1.Health/Check", "") == nil {
			lifetime.Sleep(context.Background(), time.Second)
		}
	},
	"h2 memory": func(conn net.Conn) {
		h := newAttacker(conn, 1<<16)
		for h.post("/grpc.health.v1.Health/Check", strings.Repeat("z", 1000)) == nil {
		}
	},
	"h2 reset": func(conn net.Conn) {
		h := newAttacker(conn, 1<<16)
		for h.get(defaultIDs+"?count=1000") == nil &&
			h.WriteRSTStream(h.next-2, http2.ErrCodeCancel) == nil {
		}
	},
	"h2 continuation": func(conn net.Conn) {
		h := newAttacker(conn, 1<<16)
		_ = h.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, BlockFragment: h.block(":method", "GET"),
			EndStream: true,
		})
		for h.WriteContinuation(1, false, h.block("x-a", strings.Repeat("z", 200))) == nil {
		}
	},
	"h2 ping": func(conn net.Conn) {
		h := newAttacker(conn, 1<<16)
		for h.WritePing(false, [8]byte{1}) == nil {
		}
	},
	"h2 pinned IDs":  pins(defaultIDs + "?count=256"),
	"h2 pinned page": pins("/metrics"),
}

// says returns an attack that sends a text and waits.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		_, _ = io.Copy(io.Discard, conn)
	}
}

// repeats returns an attack that sends a text again and again.
func repeats(first, text string, pause time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		_, err := io.WriteString(conn, first)
		for err == nil {
			_, err = io.WriteString(conn, text)
			lifetime.Sleep(context.Background(), pause)
		}
	}
}

// pins returns an attack that asks 100 times and reads no answer.
func pins(path string) func(net.Conn) {
	return func(conn net.Conn) {
		h := newAttacker(conn, 0)
		for range 100 {
			_ = h.get(path)
		}
		_, _ = io.Copy(io.Discard, conn)
	}
}

// attacker speaks HTTP/2 frame by frame.
type attacker struct {
	*http2.Framer
	head    bytes.Buffer
	encoder *hpack.Encoder
	next    uint32 // stream
}

// newAttacker begins a connection on which the server may send so much of a body.
func newAttacker(conn net.Conn, window uint32) *attacker {
	_, _ = io.WriteString(conn, http2.ClientPreface)
	h := &attacker{Framer: http2.NewFramer(conn, conn), next: 1}
	h.encoder = hpack.NewEncoder(&h.head)
	_ = h.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	return h
}

func (h *attacker) block(fields ...string) []byte {
	h.head.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = h.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return h.head.Bytes()
}

func (h *attacker) begin(end bool, fields ...string) error {
	h.next += 2
	return h.WriteHeaders(http2.HeadersFrameParam{
		StreamID: h.next - 2, BlockFragment: h.block(fields...), EndStream: end, EndHeaders: true,
	})
}

func (h *attacker) get(path string) error {
	return h.begin(true, ":method", "GET", ":scheme", "http", ":authority", "localhost", ":path", path)
}

// post begins a request whose body does not come.
func (h *attacker) post(path, more string) error {
	return h.begin(false, ":method", "POST", ":scheme", "http", ":authority", "localhost",
		":path", path, "content-type", "application/grpc", "te", "trailers",
		"x-a", more, "x-b", more, "x-c", more, "x-d", more)
}
