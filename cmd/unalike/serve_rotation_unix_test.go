//go:build unix

package main

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/client"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// TestServe_FilesAreReplaced: service and client go on with the files of another authority and
// another token. The client's connections end with the service, which is started again; the service
// reads its files while it runs as well.
func TestServe_FilesAreReplaced(t *testing.T) {
	t.Parallel()
	files := certtest.NewSet(t)
	theirs, ours := writeFile(t, "token", "first-token-of-the-test\n"), writeFile(t, "token", "")
	certtest.Copy(t, theirs, ours)
	config := writeFile(t, "serve.yaml", "coordinator: static://?worker=7\ntls: {cert: "+
		files.Server.Cert+", key: "+files.Server.Key+", client_ca: "+files.CA+"}\n"+
		"tokens: [{file: "+theirs+", may: [generate]}]\n")
	s := startServe(t, "--config", config)
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New([]string{s.url}, client.Options{
		CA: files.CA, Cert: files.Client.Cert, Key: files.Client.Key, TokenFile: ours,
		MaxAge: 50 * time.Millisecond, Timeout: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	works := func() bool { _, err = c.Next(); return err == nil }
	proctest.Eventually(t, time.Minute, "there are IDs", works)

	files.Replace(t)
	proctest.Write(t, theirs, "second-token-of-the-test\n")
	s.signal(syscall.SIGHUP) // otherwise up to 2 s pass
	proctest.Eventually(t, time.Minute, "the old token is refused", func() bool { return !works() })
	if !errors.Is(err, client.ErrRefused) {
		t.Errorf("with the old token: %v", err)
	}
	certtest.Copy(t, theirs, ours)
	proctest.Eventually(t, time.Minute, "the new token is shown", works)

	s.stop()
	s = startServe(t, "--config", config, "--listen", at.Host)
	proctest.Eventually(t, time.Minute, "there are IDs on a new connection", works)

	unusable := func(file string) {
		t.Helper()
		proctest.Write(t, file, "\n")
		proctest.Eventually(t, time.Minute, "the error names "+file, func() bool {
			return !works() && strings.Contains(err.Error(), file)
		})
		if errors.Is(err, client.ErrRefused) {
			t.Errorf("%v; want an error that may pass", err)
		}
	}
	unusable(ours)
	certtest.Copy(t, theirs, ours)
	s.stop()
	s = startServe(t, "--config", config, "--listen", at.Host)
	unusable(files.Client.Cert)
	files.Replace(t)
	proctest.Eventually(t, time.Minute, "there are IDs again", works)
	s.stop()
}

// TestServe_TokenFileIsMissing: a service starts without a file of a token, reports that on the
// page and in the log, serves those with another token, and reads the file when it is there.
func TestServe_TokenFileIsMissing(t *testing.T) {
	t.Parallel()
	const here, later = "token-of-an-operator", "token-that-comes-later"
	missing := filepath.Join(t.TempDir(), "missing")
	s := startFile(t, "coordinator: static://?worker=7&fresh=true\ntokens:\n"+
		"- {file: %s, may: [operate, generate]}\n- {file: %s, may: [generate]}\n",
		writeFile(t, "token", here), missing).ready()
	if status, _ := s.get(defaultIDs, later); status != http.StatusUnauthorized {
		t.Errorf("without the file: %d", status)
	}
	s.await(defaultIDs, here, isOK)
	s.logged("token file "+missing, "level=")
	s.await("/", here, func(_ int, page string) bool {
		return strings.Contains(page, "Files of tokens cannot be read") && strings.Contains(page, missing)
	})
	if err := os.WriteFile(missing, []byte(later), 0o600); err != nil {
		t.Fatal(err)
	}
	s.await(defaultIDs, later, isOK)
	s.stop()
}
