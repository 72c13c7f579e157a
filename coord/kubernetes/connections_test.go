package kubernetes_test

import (
	"context"
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
	"github.com/unalike-id/unalike/internal/drivertest"
)

// podOf is the folder of a pod of the cluster with these certificates.
func podOf(t *testing.T, in, token string, ca ...[]byte) (folder string) {
	t.Helper()
	folder = t.TempDir()
	var all []byte
	for _, b := range ca {
		all = append(all, b...)
	}
	for name, b := range map[string][]byte{"ca.crt": all, "namespace": []byte(in + "\n"), "token": []byte(token + "\n")} {
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// pod is a coordinator in a pod of a cluster of whose API server only the answers count, which
// speaks HTTP/2, as a real one, and the folder of its service account.
func pod(t *testing.T, answer http.HandlerFunc) (k *kubernetes.Coordinator, folder string) {
	t.Helper()
	s := httptest.NewUnstartedServer(answer)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	folder = podOf(t, "shop", "token", ca)
	return kubernetes.OpenPod(t, "kubernetes://?namespace=orders", folder, s.URL), folder
}

// absent says that there is no such Lease, as an API server does.
func absent(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not found","reason":"NotFound","code":404}`))
}

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
			k, _ := pod(t, func(w http.ResponseWriter, r *http.Request) {
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
				absent(w)
			})
			for n := range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				_, err := k.Inspect(ctx)
				cancel()
				if err == nil {
					return
				}
				if name == "503" {
					t.Fatalf("attempt %d: %v", n+1, err)
				}
			}
			t.Error("no call came to another server")
		})
	}
}

// TestToken: a pod's token rotates. One that is over is read again from its file at once.
func TestToken(t *testing.T) {
	k, folder := pod(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		absent(w)
	})
	for _, token := range []string{"token", "new"} {
		if err := os.WriteFile(filepath.Join(folder, "token"), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := k.Inspect(drivertest.Within(t))
		if token == "new" && err != nil || token != "new" && (err == nil || !strings.Contains(err.Error(), "does not know who this is") || coord.Permanent(err)) {
			t.Errorf("with the token %q in the file: %v", token, err)
		}
	}
}

// TestForeign: what answers is no API server. The error says so, soon, and nothing is taken to be
// lost or made.
func TestForeign(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for name, tc := range map[string]struct{ url, says string }{
		"404 of something else":    {plain.URL, "it is not that of an API server which knows Leases; put the address right"},
		"422 of something else":    {answers(http.StatusUnprocessableEntity, "no"), "it is not that of an API server which knows Leases"},
		"JSON of something else":   {answers(http.StatusOK, "{}"), "is not understood: it is a"},
		"a page":                   {answers(http.StatusOK, "<html>"), "is not understood"},
		"TLS is spoken, HTTP said": {strings.Replace(secure.URL, "https", "http", 1), "Client sent an HTTP request to an HTTPS server"},
		"HTTP is spoken, TLS said": {strings.Replace(plain.URL, "http", "https", 1), "is no API server of Kubernetes: is it the port of an API server for clients?"},
		"Redis":                    {"http://" + drivertest.Answers(t, "-ERR unknown command 'GET'\r\n"), "is no API server of Kubernetes"},
		"Redis, TLS said":          {"https://" + drivertest.Answers(t, "-ERR Protocol error\r\n"), "is no API server of Kubernetes"},
		"nobody":                   {"http://127.0.0.1:1", "the API server at 127.0.0.1:1 cannot be reached"},
		"an unknown authority":     {secure.URL, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			k, err := kubernetes.New(client, tc.url, "orders", kubernetes.Options{})
			k = drivertest.Closing(t, k, err)
			g := drivertest.Request(4)
			for what, call := range map[string]func() error{
				"Inspect": func() error { _, err := k.Inspect(drivertest.Within(t)); return err },
				"List":    func() error { _, err := k.List(drivertest.Within(t)); return err },
				"Acquire": func() error { _, err := k.Acquire(drivertest.Within(t), g); return err },
				"Init":    func() error { return k.Init(drivertest.Within(t), drivertest.Space()) },
			} {
				began := time.Now()
				if err := call(); err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%s: %v; want %q", what, err, tc.says)
				}
				if took := time.Since(began); took > drivertest.CallTime/3 {
					t.Errorf("%s: an error after %v", what, took)
				}
			}
		})
	}
}
