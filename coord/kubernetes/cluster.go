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
	read  time.Time // monotonic; zero: it has to be read
}

// get returns the token.
func (t *token) get() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.read.IsZero() && lifetime.Since(t.read) < tokenAge {
		return t.value, nil
	}
	b, err := os.ReadFile(t.file)
	value := strings.TrimSpace(string(b))
	if err == nil && value == "" {
		err = fmt.Errorf("%s is empty", t.file)
	}
	switch {
	case err == nil:
		t.value, t.read = value, lifetime.Now()
	case t.value == "": // otherwise it may be written just now
		return "", fmt.Errorf("the token of the service account cannot be read: %w", err)
	}
	return t.value, nil
}

// refused has the file read again: the token may have rotated.
func (t *token) refused() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = time.Time{}
}

// inCluster returns how this pod reaches its API server.
func inCluster(
	folder string, env func(string) string,
) (baseURL string, _ *tls.Config, _ *token, _ error) {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", nil, nil, fmt.Errorf("%w: this is no pod of a cluster: KUBERNETES_SERVICE_HOST is "+
			"not set; name the API server, or run 'kubectl proxy' and write "+
			"kubernetes+http://127.0.0.1:8001?namespace=name", coord.ErrInvalid)
	}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return "", nil, nil, fmt.Errorf("%w: the certificates of the cluster cannot be read: %w; "+
			"set automountServiceAccountToken to true", coord.ErrInvalid, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return "", nil, nil, fmt.Errorf("%w: %s has no certificate",
			coord.ErrInvalid, filepath.Join(folder, "ca.crt"))
	}
	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	t := &token{file: filepath.Join(folder, "token")}
	return "https://" + net.JoinHostPort(host, port), config, t, nil
}

// dialTime is how long it may take to connect.
const dialTime = 5 * time.Second

// newClient returns a client of its own. It speaks HTTP/1.1, whose connections end with a request
// that is given up: that of HTTP/2 would be used for ever, also if it leads to a server that hangs.
func newClient(config *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext,
			TLSClientConfig: config, TLSHandshakeTimeout: dialTime,
			MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the API server redirects, which it does not")
		},
	}
}
