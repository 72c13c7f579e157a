package backend

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/faults/proxy"
)

// common is what all back ends have. They embed it.
type common struct {
	name    string
	servers []Server
	dirs    []string // data folders
	proxy   *proxy.Proxy
	// call is text in lower case that every call of a coordinator contains.
	call string
	// restart starts the servers that have ended. Nil: each starts without the others.
	restart func(testing.TB)
}

func (c *common) Name() string        { return c.name }
func (c *common) Proxy() *proxy.Proxy { return c.proxy }
func (c *common) Servers() []Server   { return c.servers }

func (c *common) IsCall(request []byte) bool {
	return c.call != "" && bytes.Contains(bytes.ToLower(request), []byte(c.call))
}

func (c *common) Stop(tb testing.TB) {
	tb.Helper()
	c.each(tb, func(s Server) { s.Terminate(tb) })
}

func (c *common) Kill(tb testing.TB) {
	tb.Helper()
	c.each(tb, Server.Kill)
}

func (c *common) Freeze(tb testing.TB) {
	tb.Helper()
	c.each(tb, func(s Server) { s.Freeze(tb) })
}

func (c *common) Thaw(tb testing.TB) {
	tb.Helper()
	c.each(tb, func(s Server) { s.Thaw(tb) })
}

func (c *common) Restart(tb testing.TB) {
	tb.Helper()
	if c.restart != nil {
		c.restart(tb)
		return
	}
	c.each(tb, func(s Server) { restartEnded(tb, s) })
}

// restartEnded starts a server if it has ended.
func restartEnded(tb testing.TB, s Server) {
	tb.Helper()
	select {
	case <-s.Done():
		s.Restart(tb)
	default:
	}
}

// each calls do for each server.
func (c *common) each(tb testing.TB, do func(Server)) {
	tb.Helper()
	if len(c.servers) == 0 {
		tb.Fatalf("the back end %s has no servers to which something could happen", c.name)
	}
	for _, s := range c.servers {
		do(s)
	}
}

func (c *common) Snapshot(tb testing.TB) string {
	tb.Helper()
	c.Freeze(tb)
	defer c.Thaw(tb)
	return c.copyData(tb)
}

func (c *common) Restore(tb testing.TB, snapshot string) {
	tb.Helper()
	c.Kill(tb)
	c.replaceData(tb, snapshot)
	c.Restart(tb)
}

// copyData copies the data folders into a new folder.
func (c *common) copyData(tb testing.TB) string {
	tb.Helper()
	snapshot := tb.TempDir()
	for i, dir := range c.dirs {
		copyFolder(tb, dir, filepath.Join(snapshot, strconv.Itoa(i)))
	}
	return snapshot
}

// replaceData puts what copyData has copied in the place of what the data folders hold.
func (c *common) replaceData(tb testing.TB, snapshot string) {
	tb.Helper()
	for i, dir := range c.dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				tb.Fatal(err)
			}
		}
		copyFolder(tb, filepath.Join(snapshot, strconv.Itoa(i)), dir)
	}
}

// copyFolder copies what is in a folder, with its owners and rights.
func copyFolder(tb testing.TB, from, to string) {
	tb.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		tb.Fatalf("%s cannot be copied: %v\n%s", from, err, out)
	}
}

// settings are the options of a URL, with defaults.
type settings struct{ values url.Values }

// newSettings reads options of the form "name=value". What is not of that form becomes an
// option without a value, which coordinators refuse.
func newSettings(options []string) settings {
	s := settings{url.Values{"namespace": {Namespace}}}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		s.values.Set(name, value)
	}
	return s
}

// take removes an option and returns its value.
func (s settings) take(name string) string {
	v := s.values.Get(name)
	s.values.Del(name)
	return v
}

// usual sets an option that is not given.
func (s settings) usual(name, value string) {
	if !s.values.Has(name) {
		s.values.Set(name, value)
	}
}

// query returns the options as the end of a URL.
func (s settings) query() string {
	if len(s.values) == 0 {
		return ""
	}
	return "?" + s.values.Encode()
}
