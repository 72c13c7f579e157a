package tlsfiles_test

import (
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/tlsfiles"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// serve runs a server that wants certificates of its clients and reads its files for each
// connection.
func serve(t *testing.T, set *certtest.Set) *httptest.Server {
	t.Helper()
	files := tlsfiles.Files{CA: set.CA, Cert: set.Server.Cert, Key: set.Server.Key}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RemoteAddr)
	}))
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c, err := files.Server()
		if err == nil {
			c.NextProtos = []string{"h2", "http/1.1"}
		}
		return c, err
	}}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// proxy runs a proxy for connections, and returns its URL.
func proxy(t *testing.T) *url.URL {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, err := net.Dial("tcp", r.Host)
		if r.Method != http.MethodConnect || err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		for _, pipe := range [][2]net.Conn{{from, to}, {to, from}} {
			go func() {
				defer func() { _ = pipe[0].Close() }()
				_, _ = io.Copy(pipe[0], pipe[1])
			}()
		}
	}))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// clientOf is the files of a client.
func clientOf(set *certtest.Set) *tlsfiles.Files {
	return &tlsfiles.Files{CA: set.CA, Cert: set.Client.Cert, Key: set.Client.Key}
}

// wantFile checks that an error names files.
func wantFile(t *testing.T, err error, paths ...string) {
	t.Helper()
	_, ok := errors.AsType[*fs.PathError](err)
	for _, path := range paths {
		if !ok || !strings.Contains(err.Error(), path) {
			t.Errorf("%v; want an error that names %s", err, path)
		}
	}
}

// TestFiles_ReplacedFilesAreUsed: each connection has the files of its time, on both sides; a file
// that cannot be used fails that connection alone, with its name.
func TestFiles_ReplacedFilesAreUsed(t *testing.T) {
	t.Parallel()
	set := certtest.NewSet(t)
	addr, files := serve(t, set).Listener.Addr().String(), clientOf(set)
	dial := func() error {
		conn, err := files.Dial(t.Context(), "tcp", addr)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		// With TLS 1.3 a server refuses a client's certificate after the client's handshake.
		_, err = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
		if err == nil {
			_, err = io.ReadAll(conn)
		}
		return err
	}
	for range 2 {
		if err := dial(); err != nil {
			t.Fatal(err)
		}
		set.Replace(t)
	}
	other := certtest.New(t)
	certtest.Copy(t, other.Issue(t).Cert, set.Client.Cert)
	wantFile(t, dial(), set.Client.Cert, set.Client.Key)
	set.Replace(t)
	proctest.Write(t, set.CA, "")
	wantFile(t, dial(), set.CA)
	certtest.Copy(t, other.Path, set.CA)
	if err := dial(); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("with another authority: %v", err)
	}
	set.Replace(t)
	if err := dial(); err != nil {
		t.Error(err)
	}
}

// TestFiles_HostIsChecked: the certificate has to be that of the host, also where that is a number.
func TestFiles_HostIsChecked(t *testing.T) {
	t.Parallel()
	set := certtest.NewSet(t)
	_, port, err := net.SplitHostPort(serve(t, set).Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = clientOf(set).Dial(t.Context(), "tcp", net.JoinHostPort("localhost", port))
	if err == nil || !strings.Contains(err.Error(), "localhost") {
		t.Errorf("the certificate of 127.0.0.1 was taken for that of localhost: %v", err)
	}
}

// TestFiles_Transport: requests go on when the files are replaced, directly and through a proxy.
func TestFiles_Transport(t *testing.T) {
	t.Parallel()
	for name, proxied := range map[string]bool{"direct": false, "through a proxy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := certtest.NewSet(t)
			base := &http.Transport{ForceAttemptHTTP2: true}
			if proxied {
				base.Proxy = http.ProxyURL(proxy(t))
			}
			server := serve(t, set)
			client := &http.Client{Transport: clientOf(set).Transport(base)}
			ask := func() (from string, err error) {
				resp, err := client.Get(server.URL)
				if err != nil {
					return "", err
				}
				defer func() { _ = resp.Body.Close() }()
				if resp.ProtoMajor != 2 {
					t.Errorf("the reply came over %s", resp.Proto)
				}
				b, err := io.ReadAll(resp.Body)
				return string(b), err
			}
			first, err := ask()
			if err != nil {
				t.Fatal(err)
			}
			again, err := ask()
			if err != nil || (again == first) == proxied {
				t.Errorf("from %s and then from %s: %v", first, again, err)
			}
			set.Replace(t)
			client.CloseIdleConnections()
			if _, err := ask(); err != nil {
				t.Error(err)
			}
			client.CloseIdleConnections()
			proctest.Write(t, set.CA, "")
			_, err = ask()
			wantFile(t, err, set.CA)
		})
	}
}
