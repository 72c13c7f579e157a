package kubernetes

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// serviceAccount is the folder in which a pod finds who it is.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// ownNamespace is the namespace of this pod.
func ownNamespace(folder string) string {
	b, _ := os.ReadFile(filepath.Join(folder, "namespace")) // this may be no pod
	return cmp.Or(strings.TrimSpace(string(b)), "default")
}

// readToken reads the projected token of a service account from its file, as it rotates.
func readToken(file string) (string, error) {
	b, err := os.ReadFile(file)
	value := strings.TrimSpace(string(b))
	if err == nil && value == "" {
		err = fmt.Errorf("%s is empty", file)
	}
	if err != nil {
		return "", fmt.Errorf("the token of the service account cannot be read: %w", err)
	}
	return value, nil
}

// inCluster returns how this pod reaches its API server.
func inCluster(folder string, env func(string) string) (baseURL string, _ *tls.Config, _ error) {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", nil, fmt.Errorf("%w: this is no pod of a cluster: KUBERNETES_SERVICE_HOST is "+
			"not set; name the API server, or run 'kubectl proxy' and write "+
			"kubernetes+http://127.0.0.1:8001?namespace=name", coord.ErrInvalid)
	}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return "", nil, fmt.Errorf("%w: the certificates of the cluster cannot be read: %w; "+
			"set automountServiceAccountToken to true", coord.ErrInvalid, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return "", nil, fmt.Errorf("%w: %s has no certificate",
			coord.ErrInvalid, filepath.Join(folder, "ca.crt"))
	}
	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return "https://" + net.JoinHostPort(host, port), config, nil
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
