//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestServe_LogIsNotRead: a service whose log nobody reads, with a token file that blocks and 300
// watchers, has IDs, and ends when it is told to. Its worker ID is free then.
func TestServe_LogIsNotRead(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	fd := int(w.Fd()) // which makes it block
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the pipe is full
		_, err = syscall.Write(fd, make([]byte, 4096))
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	unread := func(c *exec.Cmd) { c.Stderr = w }
	etcd := "etcd://" + etcdtest.Start(t).Endpoint + "/unread"
	pipe := filepath.Join(t.TempDir(), "token")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServeAs(t, unread, "--config", writeFile(t, "serve.yaml", fmt.Sprintf(
		"coordinator: %s\ntokens:\n- {file: %s, may: [generate]}\n"+
			"- {file: %s, may: [generate, operate]}\n",
		etcd, pipe, writeFile(t, "token", "token-of-a-good-caller"))))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.ready()
	if status, body := s.get(defaultIDs, "token-of-a-good-caller"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	for range 300 {
		watch := bufio.NewReader(s.say("GET /page/events HTTP/1.1\r\nHost: localhost\r\n" +
			"Authorization: Bearer token-of-a-good-caller\r\n\r\n"))
		if line, err := watch.ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			t.Fatalf("a watcher hears %q, %v", line, err)
		}
	}
	begun := time.Now()
	s.stop()
	if took := time.Since(begun); took > endTime+releaseTimeout {
		t.Errorf("the end took %v", took)
	}
	checkLines(t, nil, []line{{"workers --coordinator " + etcd, exitOK, "0 held"}})
}
