//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestReadmeService runs the service in the README as it stands there: it is not ready while there
// is no coordinator, and says why; it is ready when there is one; and it gives its worker ID back
// at the end, about which it says nothing. One that cannot listen fails.
func TestReadmeService(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t)
	etcd.Kill()
	url, listen := "etcd://"+etcd.Endpoint+"/readme", nobody(t)
	var log proctest.Output
	binary := compileProgram(t, "README.md", blocks(readFile(t, "README.md"), "go")[1])
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), "LISTEN="+listen, "UNALIKE_COORDINATOR="+url)
	cmd.Stdout, cmd.Stderr = &log, &log
	service := proctest.Start(t, cmd)
	ask := func(method, page string, want int) string {
		t.Helper()
		for {
			select {
			case <-service.Done():
				t.Fatalf("the service ended:\n%s", &log)
			case <-time.After(20 * time.Millisecond):
			}
			req, err := http.NewRequestWithContext(t.Context(), method, "http://"+listen+page, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				continue // it does not listen yet
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err == nil && resp.StatusCode == want {
				return string(body)
			}
		}
	}
	for page, method := range map[string]string{"/ready": "GET", "/orders": "POST"} {
		if why := ask(method, page, http.StatusServiceUnavailable); !strings.Contains(why,
			core.ErrNotStarted.Error()) {
			t.Errorf("%s: not because of %q", page, why)
		}
	}
	etcd.Restart(t)
	ask("GET", "/ready", http.StatusOK)
	if _, err := core.ParseID(strings.TrimSpace(ask("POST", "/orders", http.StatusOK))); err != nil {
		t.Error(err)
	}
	second := exec.Command(binary)
	second.Env = cmd.Env
	out, err := second.CombinedOutput()
	inUse := regexp.MustCompile(`(?m)^[^\n]* listen tcp [^\n]*: address already in use\n\z`)
	if code := second.ProcessState.ExitCode(); code == 0 || !inUse.Match(out) {
		t.Errorf("where the address is in use: exit code %d, %v\n%s", code, err, out)
	}
	service.Terminate(t)
	if code := cmd.ProcessState.ExitCode(); code != 0 || strings.Contains(log.String(), "http: ") {
		t.Errorf("exit code %d\n%s", code, &log)
	}
	checkLines(t, nil, []line{{"workers --coordinator " + url, exitOK, "\n0 held, "}})
}
