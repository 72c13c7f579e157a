package kubetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Version is that of the API server.
const Version = "v1.36.3"

// Admin is the token of a user who may do everything.
const Admin = "admin"

// binary is where scripts/kubernetes puts the API server.
func binary(tb testing.TB) string {
	tb.Helper()
	fulltest.Long(tb, "the API server of Kubernetes takes minutes to build, and seconds to start")
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(cache, "unalike", "kube-apiserver-"+Version)
	proctest.Need(tb, "nothing: scripts/kubernetes builds the API server once, which takes "+
		"some 6 minutes", path)
	return path
}

// Server is an API server without anything else of a cluster.
type Server struct {
	URL  string // https://host:port
	Etcd *etcdtest.Server
	*proctest.Server
	http *http.Client
	made atomic.Int64
}

// Start runs an API server, and its etcd, that end with the test, and returns when it is ready. Its
// certificate is one of its own.
func Start(tb testing.TB) *Server {
	tb.Helper()
	return start(tb)
}

// StartTLS is Start for a server with a certificate. Each start reads the files.
func StartTLS(tb testing.TB, files certtest.Pair) *Server {
	tb.Helper()
	return start(tb, "--tls-cert-file="+files.Cert, "--tls-private-key-file="+files.Key)
}

func start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	binary, dir, port := binary(tb), proctest.Folder(tb, "kube"), proctest.FreePorts(tb, 1)[0]
	key, tokens := certtest.New(tb).Issue(tb).Key, filepath.Join(dir, "tokens.csv")
	proctest.Write(tb, tokens, Admin+`,admin,admin,"system:masters"`+"\n")
	s := &Server{URL: fmt.Sprintf("https://127.0.0.1:%d", port), Etcd: etcdtest.Start(tb)}
	s.http = s.Client(tb, "", nil)
	s.http.Timeout = 30 * time.Second
	s.Server = proctest.NewServer(func() *exec.Cmd {
		return exec.Command(binary, append(args, //nolint:gosec // it is ours
			"--etcd-servers=http://"+s.Etcd.Endpoint, fmt.Sprintf("--secure-port=%d", port),
			"--bind-address=127.0.0.1", "--cert-dir="+filepath.Join(dir, "certs"),
			"--service-account-issuer=https://kubetest", "--service-account-key-file="+key,
			"--service-account-signing-key-file="+key,
			"--authorization-mode=RBAC", "--token-auth-file="+tokens,
			"--service-cluster-ip-range=10.0.0.0/24",
			"--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none", "--v=0")...)
	}, func() bool {
		code, _ := s.Do(http.MethodGet, "/readyz", "", nil)
		return code == http.StatusOK
	})
	s.Restart(tb)
	return s
}

// endTime is how long the API server may take to end in good order.
const endTime = 10 * time.Second

// Terminate ends the API server in good order, and returns when it is gone. One that takes too long
// is killed, as a kubelet does it.
func (s *Server) Terminate(tb testing.TB) {
	tb.Helper()
	if !s.Ended() {
		s.Signal(tb, syscall.SIGTERM)
		s.EndIn(endTime)
	}
}

// Do makes a request as somebody who may do everything, and returns status and body; 0: there
// was no answer.
func (s *Server) Do(method, path, content string, body []byte) (int, []byte) {
	req, err := http.NewRequestWithContext(context.Background(), method, s.URL+path,
		bytes.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	req.Header.Set("Content-Type", content)
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return resp.StatusCode, b
}

// Apply makes an object: kind is the path of its collection. Fields that the server does not
// know are refused.
func (s *Server) Apply(tb testing.TB, collection, content string, object []byte) {
	tb.Helper()
	code, b := s.Do(http.MethodPost, collection+"?fieldValidation=Strict", content, object)
	if code >= http.StatusMultipleChoices || code == 0 {
		tb.Fatalf("POST %s: status %d: %s", collection, code, b)
	}
}

// Namespace makes a Kubernetes namespace, and returns its name.
func (s *Server) Namespace(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("test-%d", s.made.Add(1))
	s.Apply(tb, "/api/v1/namespaces", "application/json",
		[]byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`))
	return name
}

// Client returns a client that acts with the rights of a user; empty: of somebody who may do
// everything. Around, if not nil, is called with each request.
func (s *Server) Client(tb testing.TB, user string,
	around func(*http.Request, http.RoundTripper) (*http.Response, error),
) *http.Client {
	tb.Helper()
	unknown := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // it is on this machine
	base := &http.Transport{
		TLSClientConfig: unknown, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64,
	}
	tb.Cleanup(base.CloseIdleConnections)
	return &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+Admin)
		if user != "" {
			r.Header.Set("Impersonate-User", user)
		}
		if around != nil {
			return around(r, base)
		}
		return base.RoundTrip(r)
	})}
}

// trip is a function that makes requests.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
