package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// storeURLs are URLs of stores of segments, with ADDRESS where a server stands.
var storeURLs = []string{
	"etcd://ADDRESS/x", "postgres://u:secret@ADDRESS/db",
	"mysql://u:secret@ADDRESS/db",
}

// secureURLs are URLs of coordinators with TLS.
var secureURLs = []string{
	"etcds://ADDRESS/x", "rediss://:secret@ADDRESS/0?namespace=x",
	"postgress://u:secret@ADDRESS/db?namespace=x", "mysqls://u:secret@ADDRESS/db?namespace=x",
}

// expected returns the product of a URL by its name in errors.
func expected(url string) string {
	scheme, _, _ := strings.Cut(url, ":")
	for begin, product := range map[string]string{
		"etcd": "etcd", "redis": "Redis", "zk": "ZooKeeper", "kubernetes": "a Kubernetes API server",
		"postgres": "PostgreSQL", "mysql": "MySQL or MariaDB",
	} {
		if strings.HasPrefix(scheme, begin) {
			return product
		}
	}
	return ""
}

// commandsFor are the commands that ask the server of a URL.
func commandsFor(url string, store bool) []string {
	if store {
		return []string{"segments --store " + url, "generate --segment orders --store " + url}
	}
	return []string{"generate --coordinator " + url, "workers --coordinator " + url}
}

// mysqlGreeting is the first packet of a MySQL, and mysqlRefusal that of one which has no room.
func mysqlGreeting(version string) string {
	rest := "\x0a" + version + "\x00" + strings.Repeat("\x01", 60) + "mysql_native_password\x00"
	return string([]byte{byte(len(rest)), 0, 0, 0}) + rest
}

const mysqlRefusal = "\x17\x00\x00\x00\xff\x10\x04Too many connections"

// product is something that listens at an address, as an error calls it.
type product struct{ addr, found string }

// fakes speak as much of a protocol as a stranger hears of it.
func fakes(t *testing.T) []product {
	t.Helper()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	return []product{
		{web.Listener.Addr().String(), "an HTTP server"},
		{drivertest.Answers(t, "HTTP/1.1 400 Bad Request\r\nServer: nginx/1.22.1\r\n"+
			"Connection: close\r\n\r\n<html>"), "an HTTP server (nginx/1.22.1)"},
		{drivertest.Greets(t, "SSH-2.0-OpenSSH_9.6\r\n"), "an SSH server (SSH-2.0-OpenSSH_9.6)"},
		{drivertest.Greets(t, "220 mail.example.com ESMTP\r\n"), "a mail or FTP server"},
		{drivertest.Greets(t, mysqlGreeting("8.0.36")), "MySQL or MariaDB (8.0.36)"},
		{
			drivertest.Greets(t, mysqlGreeting("5.5.5-10.11.6-MariaDB")),
			"MySQL or MariaDB (10.11.6-MariaDB)",
		},
		{drivertest.Greets(t, mysqlRefusal), "MySQL or MariaDB"},
		{drivertest.Answers(t, "-ERR unknown command\r\n"), "Redis"},
		{drivertest.Answers(t, "-NOAUTH Authentication required.\r\n"), "Redis"},
		{drivertest.AnswersOnly(t, "\x00\x00\x00\x08\x04\xd2\x16\x2f", "N"), "PostgreSQL"},
		{
			drivertest.AnswersOnly(t, "srvr", "Zookeeper version: 3.8.0-5a02a05, built on 2022\n"),
			"ZooKeeper (3.8.0)",
		},
		{
			drivertest.AnswersOnly(t, "srvr", "srvr is not executed because it is not in the whitelist.\n"),
			"ZooKeeper",
		},
	}
}

// withTLS serves connections after the greeting of TLS. It returns the file of the authority.
func withTLS(t *testing.T, serve func(net.Conn)) (addr, ca string) {
	t.Helper()
	authority := certtest.New(t)
	pair := authority.Issue(t)
	cert, err := tls.LoadX509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}}
	addr = drivertest.Listen(t, func(conn net.Conn) { serve(tls.Server(conn, config)) })
	return addr, authority.Path
}

// wrongCalls runs commands against wrong servers and checks their errors.
type wrongCalls struct {
	t      *testing.T
	all    sync.WaitGroup
	places chan struct{} // so many at once

	mu      sync.Mutex
	slowest time.Duration
}

// newWrongCalls returns calls that [wrongCalls.end] waits for.
func newWrongCalls(t *testing.T) *wrongCalls {
	return &wrongCalls{t: t, places: make(chan struct{}, 16)}
}

// end waits for all calls.
func (w *wrongCalls) end() {
	w.all.Wait()
	w.t.Logf("the slowest call took %v", w.slowest)
}

// check runs every command with a URL at addr. Its error must name both products.
func (w *wrongCalls) check(url string, store bool, expects, found, addr string) {
	for _, command := range commandsFor(strings.Replace(url, "ADDRESS", addr, 1), store) {
		w.all.Go(func() {
			w.places <- struct{}{}
			defer func() { <-w.places }()
			want := "expected " + expects + ", found " + found
			var got result
			// A server that has no time to show what it is may be the right one, and the next attempt tells.
			for try := 0; try < 5 && !strings.Contains(got.stderr, want); try++ {
				began := time.Now()
				got = call(w.t, nil, "", strings.Fields(command)...)
				w.mu.Lock()
				w.slowest = max(w.slowest, time.Since(began))
				w.mu.Unlock()
			}
			lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
			last := lines[len(lines)-1] // a busy machine may log a wait before it
			if got.code != exitFailure || !strings.HasPrefix(last, "unalike: ") ||
				!strings.Contains(last, want) || !strings.Contains(last, addr+"; correct the address") {
				w.t.Errorf("%s: %+v\nwant %q", command, got, want)
			}
			if strings.Contains(got.stderr, "secret") {
				w.t.Errorf("%s: the password was printed:\n%s", command, got.stderr)
			}
		})
	}
}

// checkAll points every driver at each of some products that is not its own, and those with TLS at
// all.
func (w *wrongCalls) checkAll(products []product) {
	for _, p := range products {
		for i, url := range append(serverURLs[:len(serverURLs):len(serverURLs)], storeURLs...) {
			product := expected(url)
			// A driver over HTTP names the product by the answer to its own request.
			ofHTTP := strings.HasPrefix(p.found, "an HTTP server") || p.found == "etcd"
			if product == "a Kubernetes API server" && ofHTTP {
				w.check(url, false, product, "an HTTP server", p.addr)
			} else if !strings.HasPrefix(p.found, product) {
				w.check(url, i >= len(serverURLs), product, p.found, p.addr)
			}
		}
		for _, url := range secureURLs {
			product, found := expected(url), p.found
			if product == "etcd" && found == product {
				found = "" // its HTTP/2 or its version, whichever it answers first
			}
			if product != "MySQL or MariaDB" || !strings.HasPrefix(found, product) {
				w.check(url, false, product+" with TLS", found, p.addr)
			}
		}
	}
}

// TestWrongServer: where another product listens, every command fails with one line that names the
// expected product, the found product and the address.
func TestWrongServer(t *testing.T) {
	t.Parallel()
	w := newWrongCalls(t)
	defer w.end()
	w.checkAll(fakes(t))
	secure, _ := withTLS(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	for i, url := range append(serverURLs[:len(serverURLs):len(serverURLs)], storeURLs...) {
		w.check(url, i >= len(serverURLs), expected(url), "a server with TLS", secure)
	}
	for _, scheme := range []string{"etcds://ADDRESS/x?", "rediss://ADDRESS/0?namespace=x&"} {
		addr, ca := withTLS(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"))
		})
		url := scheme + "ca=" + ca
		w.check(url, false, expected(url)+" with TLS", "an HTTP server", addr)
	}
	for found, server := range map[string]*grpc.Server{
		"another server of gRPC": grpc.NewServer(), "kine": grpc.NewServer(),
	} {
		if found == "kine" {
			pb.RegisterKVServer(server, kine{})
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(server.Stop)
		w.check("etcd://ADDRESS/x", false, "etcd", found, l.Addr().String())
		if found != "kine" { // which lists segments
			w.check("etcd://ADDRESS/x", true, "etcd", found, l.Addr().String())
		}
	}
}

// kine answers transactions as kine does.
type kine struct{ pb.UnimplementedKVServer }

func (kine) Txn(context.Context, *pb.TxnRequest) (*pb.TxnResponse, error) {
	return nil, errors.New("unsupported transaction: compare")
}

// TestWrongServer_Real is TestWrongServer with real servers.
func TestWrongServer_Real(t *testing.T) {
	t.Parallel()
	fulltest.Long(t, "it starts a server of each product")
	w := newWrongCalls(t)
	defer w.end()
	w.checkAll([]product{
		{etcdtest.Start(t).Endpoint, "etcd"},
		{redistest.Start(t, redistest.Options{}).Addr, "Redis"},
		{redistest.Start(t, redistest.Options{Password: "x"}).Addr, "Redis"},
		{zktest.Start(t, zktest.Options{}).Addr, "ZooKeeper"},
		{"127.0.0.1:" + pgtest.Start(t).Port, "PostgreSQL"},
		{mysqltest.Start(t).Addr(), "MySQL or MariaDB"},
	})
}

// TestTroubledServer: the answers of a right server that starts or is busy, and those of a proxy
// without a server behind it, are temporary errors.
func TestTroubledServer(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	defer all.Wait()
	check := func(url, name, addr string) {
		for _, command := range commandsFor(strings.Replace(url, "ADDRESS", addr, 1),
			!strings.Contains(url, "namespace=") && strings.HasSuffix(url, "/db")) {
			all.Go(func() {
				got := call(t, nil, "", append(strings.Fields(command), "--timeout", "2s")...)
				if got.code != exitFailure || strings.Contains(got.stderr, "unalike: invalid") ||
					strings.Contains(got.stderr, "segment: invalid") {
					t.Errorf("%s, %s: %+v; want an error that is not final", command, name, got)
				}
			})
		}
	}
	urls := append(append(serverURLs[:len(serverURLs):len(serverURLs)], storeURLs...), secureURLs...)
	for name, addr := range map[string]string{
		"a page of a load balancer": drivertest.Answers(t, "HTTP/1.1 503 Service Unavailable\r\n"+
			"Server: nginx\r\nConnection: close\r\n\r\n<html>"),
		"silence": silent(t), "it hangs up": drivertest.Answers(t, ""),
		"it hangs up at once": drivertest.Listen(t, func(net.Conn) {}),
		"half an answer":      drivertest.Greets(t, "\x00"),
	} {
		for _, url := range urls {
			check(url, name, addr)
		}
	}
	check("redis://ADDRESS/0?namespace=x", "loading",
		drivertest.AnswersAll(t, "-LOADING Redis is loading the dataset in memory\r\n"))
	check("mysql://u:secret@ADDRESS/db?namespace=x", "no room", drivertest.Greets(t, mysqlRefusal))
	check("zk://ADDRESS?namespace=x", "no quorum", drivertest.AnswersOnly(t, "srvr",
		"This ZooKeeper instance is not currently serving requests\n"))
	check("postgres://u:secret@ADDRESS/db?namespace=x", "it starts", drivertest.Answers(t,
		"E\x00\x00\x00\x3aSFATAL\x00VFATAL\x00C57P03\x00Mthe database system is starting up\x00\x00"))
}
