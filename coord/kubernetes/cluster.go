package kubernetes

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// serviceAccount is the folder in which a pod finds who it is.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// ownNamespace is the namespace of this pod.
func ownNamespace(folder string) string {
	if b, err := os.ReadFile(filepath.Join(folder, "namespace")); err == nil && len(b) > 0 {
		return strings.TrimSpace(string(b))
	}
	return "default"
}

// tokenAge is how long a token is used before its file is read again: it rotates.
const tokenAge = time.Minute

// token is the projected token of a service account.
type token struct {
	file string

	mu    sync.Mutex
	value string
	read  time.Time // monotonic
}

// get returns the token; anew: as the file has it now, because the one before was refused.
func (t *token) get(anew bool) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value != "" && !anew && lifetime.Since(t.read) < tokenAge {
		return t.value, nil
	}
	b, err := os.ReadFile(t.file)
	if err == nil && len(strings.TrimSpace(string(b))) == 0 {
		err = fmt.Errorf("%s is empty", t.file)
	}
	if err != nil {
		if t.value != "" && !anew {
			return t.value, nil // it may be written just now
		}
		return "", fmt.Errorf("the token of the service account cannot be read: %w", err)
	}
	t.value, t.read = strings.TrimSpace(string(b)), lifetime.Now()
	return t.value, nil
}

// inCluster returns how this pod reaches its API server.
func inCluster(folder string, env func(string) string) (baseURL string, config *tls.Config, t *token, _ error) {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", nil, nil, fmt.Errorf("%w: this is no pod of a cluster: KUBERNETES_SERVICE_HOST is not set; name the API server, or run 'kubectl proxy' and write kubernetes+http://127.0.0.1:8001?namespace=name", coord.ErrInvalid)
	}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return "", nil, nil, fmt.Errorf("%w: the certificates of the cluster cannot be read: %w; set automountServiceAccountToken to true", coord.ErrInvalid, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return "", nil, nil, fmt.Errorf("%w: %s has no certificate", coord.ErrInvalid, filepath.Join(folder, "ca.crt"))
	}
	return "https://" + net.JoinHostPort(host, port), &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, &token{file: filepath.Join(folder, "token")}, nil
}

const (
	// dialTime is how long it may take to connect.
	dialTime = 5 * time.Second
	// pingAfter and pingTime find a connection that is dead: HTTP/2 has one for all requests.
	pingAfter, pingTime = 3 * time.Second, 3 * time.Second
)

// newClient returns a client of its own, and its connections.
func newClient(config *tls.Config) (*http.Client, *lines) {
	ls := newLines()
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: ls.dial, TLSClientConfig: config, TLSHandshakeTimeout: dialTime,
		ForceAttemptHTTP2: true, HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTime},
		MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
	}
	ls.dropIdle = t.CloseIdleConnections
	return &http.Client{
		Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the API server redirects, which it does not")
		},
	}, ls
}
