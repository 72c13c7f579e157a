package kubernetes_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/tlsfiles"
)

// pod is the folder of a pod that has files.
func pod(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// server is an API server of which only the answers count, which speaks HTTP/2, as a real one, and
// its certificate.
func server(t *testing.T, answer http.HandlerFunc) (url, ca string) {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, string(pem.EncodeToMemory(&pem.Block{
		Type:  "CERTIFICATE",
		Bytes: s.Certificate().Raw,
	}))
}

// TestBadPod: what is wrong with the service account of a pod is said by its name, and what may be
// put right while the pod runs is no reason not to start.
func TestBadPod(t *testing.T) {
	url, good := server(t, http.NotFound)
	other, err := os.ReadFile(certtest.New(t).Path)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		files       map[string]string
		says, later string // when it is opened, and with the first call
	}{
		"no certificates": {
			map[string]string{"token": "t"},
			"the certificates of the cluster cannot be read", "",
		},
		"no certificate": {
			map[string]string{"token": "t", "ca.crt": "junk"},
			"ca.crt: no certificate", "",
		},
		"no name": {
			map[string]string{"token": "t", "ca.crt": good, "namespace": "A b"},
			`In is "A b"`, "",
		},
		"no token": {
			map[string]string{"ca.crt": good},
			"",
			"the token of the service account cannot be read",
		},
		"an empty token": {
			map[string]string{"ca.crt": good, "token": "\n"},
			"", "token: must hold one line",
		},
		"another authority": {
			map[string]string{"ca.crt": string(other), "token": "t"},
			"",
			"certificate signed by unknown authority",
		},
	} {
		c, err := kubernetes.OpenPod(pod(t, tc.files), url)
		if tc.says != "" {
			drivertest.WantInvalid(t, name, err, tc.says)
			continue
		}
		c = drivertest.Closing(t, c, err)
		if _, err := c.Inspect(drivertest.Within(t)); err == nil ||
			!strings.Contains(err.Error(), tc.later) || coord.Permanent(err) {
			t.Errorf("%s: %v; want an error that may pass and says %q", name, err, tc.later)
		}
	}
}

// empty says that there are no Leases, as an API server does.
func empty(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"kind":"LeaseList"}`) }

// TestAnotherConnection: an API server that cannot do anything, or leaves requests without an
// answer, may be one of several behind an address. The connection to it, which HTTP/2 would use for
// ever, is given up.
func TestAnotherConnection(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]http.HandlerFunc{
		"503": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no leader", http.StatusServiceUnavailable)
		},
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			first := ""
			url, ca := server(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				if first == "" {
					first = r.RemoteAddr
				}
				isFirst := first == r.RemoteAddr
				mu.Unlock()
				if isFirst {
					bad(w, r)
					return
				}
				empty(w)
			})
			k, err := kubernetes.OpenPod(pod(t, map[string]string{"ca.crt": ca, "token": "t"}), url)
			k = drivertest.Closing(t, k, err)
			var errs [2]error
			for i := range errs {
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				_, errs[i] = k.Inspect(ctx)
				cancel()
			}
			if errs[0] == nil || errs[1] != nil {
				t.Errorf("%v; want an error, and that the next call comes to another server", errs)
			}
		})
	}
}

// TestToken: a pod's token rotates.
func TestToken(t *testing.T) {
	url, ca := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		empty(w)
	})
	folder := pod(t, map[string]string{"ca.crt": ca, "token": "old\n"})
	k, err := kubernetes.OpenPod(folder, url)
	k = drivertest.Closing(t, k, err)
	if _, err := k.Inspect(drivertest.Within(t)); err == nil ||
		!strings.Contains(err.Error(), "does not know who this is") || coord.Permanent(err) {
		t.Errorf("with an old token: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "token"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Inspect(drivertest.Within(t)); err != nil {
		t.Errorf("with a new token: %v", err)
	}
}

// TestPod_AuthorityIsReplaced: connections are made with the ca.crt of their time; one that cannot
// be used fails a call and names the file.
func TestPod_AuthorityIsReplaced(t *testing.T) {
	t.Parallel()
	files := certtest.NewSet(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		empty(w)
	}))
	own := tlsfiles.Files{Cert: files.Server.Cert, Key: files.Server.Key}
	s.TLS = &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return own.Server() },
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	folder := filepath.Dir(files.CA)
	proctest.Write(t, filepath.Join(folder, "token"), "t")
	k, err := kubernetes.OpenPod(folder, s.URL)
	k = drivertest.Closing(t, k, err)
	inspect := func() error {
		s.CloseClientConnections()
		_, err := k.Inspect(drivertest.Within(t))
		return err
	}
	for range 2 {
		if err := inspect(); err != nil {
			t.Error(err)
		}
		files.Replace(t)
	}
	proctest.Write(t, files.CA, "")
	if err := inspect(); err == nil || !strings.Contains(err.Error(), files.CA) ||
		coord.Permanent(err) {
		t.Errorf("%v; want an error that may pass and names the file", err)
	}
	files.Replace(t)
	if err := inspect(); err != nil {
		t.Error(err)
	}
}

// TestPod_GeneratorGoesOn: a running generator keeps its lease when the cluster has another
// authority.
func TestPod_GeneratorGoesOn(t *testing.T) {
	t.Parallel()
	files := certtest.NewSet(t)
	s := kubetest.StartTLS(t, files.Server)
	folder := filepath.Dir(files.CA)
	proctest.Write(t, filepath.Join(folder, "token"), kubetest.Admin)
	k, err := kubernetes.OpenPod(folder, s.URL)
	k = drivertest.Closing(t, k, err)
	if err := k.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	g, err := core.New(drivertest.Within(t), k, core.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(t.Context()) }()
	drivertest.GoesOn(t, g, func() {
		files.Replace(t)
		s.Terminate(t)
		s.Restart(t)
	})
}

// TestForeign: what answers is no API server. The error says so, soon, and nothing is taken to be
// lost or made.
func TestForeign(t *testing.T) {
	secure, _ := server(t, http.NotFound)
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	plain := answers(http.StatusNotFound, "no")
	const found = "; correct the address: "
	for name, tc := range map[string]struct{ url, says string }{
		"404 of something else": {
			plain,
			"expected a Kubernetes API server, found an HTTP server at " + plain[len("http://"):] +
				"; correct the address",
		},
		"JSON of something else": {answers(http.StatusOK, "{}"), found},
		"a page":                 {answers(http.StatusOK, "<html>"), found},
		"another address":        {answers(http.StatusFound, ""), found},
		"a load balancer": {
			answers(http.StatusServiceUnavailable, "<html>"),
			"it is not that of an API server which knows Leases; put the address right",
		},
		"TLS is spoken, HTTP said": {
			strings.Replace(secure, "https", "http", 1),
			"; correct the address: it answers with status 400: Client sent an HTTP request to an " +
				"HTTPS server",
		},
		"HTTP is spoken, TLS said": {
			strings.Replace(plain, "http", "https", 1),
			"is no API server of Kubernetes: is it the port of an API server for clients?",
		},
		"Redis": {
			"http://" + drivertest.Answers(t, "-ERR unknown command 'GET'\r\n"),
			"is no API server of Kubernetes",
		},
		"nobody": {"http://127.0.0.1:1", "the API server at 127.0.0.1:1 cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			k, err := kubernetes.New(client, tc.url, "orders", kubernetes.Options{})
			k = drivertest.Closing(t, k, err)
			began := time.Now()
			g, err := k.Acquire(drivertest.Within(t), drivertest.Request(4))
			if took := time.Since(began); err == nil || !strings.Contains(err.Error(), tc.says) ||
				took > drivertest.CallTime/3 {
				t.Errorf("%v, %v after %v; want %q", g, err, took, tc.says)
			}
			if found := strings.Contains(tc.says, "correct the address"); coord.Permanent(err) != found {
				t.Errorf("%v is final: %t; want %t", err, !found, found)
			}
		})
	}
}
