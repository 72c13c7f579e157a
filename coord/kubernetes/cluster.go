package kubernetes

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/tlsfiles"
)

// serviceAccount is the folder in which a pod finds who it is.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// ownNamespace is the namespace of this pod.
func ownNamespace(folder string) string {
	b, _ := os.ReadFile(filepath.Join(folder, "namespace")) // this may be no pod
	return cmp.Or(strings.TrimSpace(string(b)), "default")
}

// maxToken is how many bytes a token may have: what an API server accepts of all headers.
const maxToken = 1 << 20

// readToken reads the projected token of a service account from its file, as it rotates.
func readToken(file string) (string, error) {
	value, err := drivers.ReadLine(file, maxToken)
	if err != nil {
		return "", fmt.Errorf("the token of the service account cannot be read: %w", err)
	}
	return value, nil
}

// inCluster returns how this pod reaches its API server, and the file with the authorities of that.
func inCluster(folder string,
	env func(string) string,
) (baseURL string, _ *tlsfiles.Files, _ error) {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", nil, invalid.Errorf("this is no pod of a cluster: KUBERNETES_SERVICE_HOST is " +
			"not set; name the API server, or run 'kubectl proxy' and write " +
			"kubernetes+http://127.0.0.1:8001?namespace=name")
	}
	files := &tlsfiles.Files{CA: filepath.Join(folder, "ca.crt")}
	if err := files.Check(); err != nil {
		return "", nil, invalid.Errorf("the certificates of the cluster cannot be read: %w; "+
			"set automountServiceAccountToken to true", err)
	}
	return "https://" + net.JoinHostPort(host, port), files, nil
}

// dialTime is how long it may take to connect.
const dialTime = 5 * time.Second

// errRedirects says that a server sends requests elsewhere.
var errRedirects = errors.New("it redirects, which no API server does")

// newClient returns a client of its own. It speaks HTTP/1.1, whose connections end with a request
// that is given up: that of HTTP/2 would be used for ever, also if it leads to a server that hangs.
// Nil files: it connects without TLS.
func newClient(files *tlsfiles.Files) *http.Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSHandshakeTimeout: dialTime, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
	}
	return &http.Client{
		Transport: files.Transport(transport),
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errRedirects
		},
	}
}
