// Package certtest issues certificates for tests of TLS.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Authority issues certificates.
type Authority struct {
	Path string // of its own certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is the paths of a certificate and its key.
type Pair struct{ Cert, Key string }

// New returns an authority that is valid for an hour. Its files end with the test.
func New(tb testing.TB) *Authority {
	tb.Helper()
	a := new(Authority)
	now := time.Now()
	p := a.issue(tb, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	a.Path = p.Cert
	return a
}

// Issue makes a certificate for 127.0.0.1, for servers and clients, that is valid from
// an hour ago on for another hour from now.
func (a *Authority) Issue(tb testing.TB) Pair {
	tb.Helper()
	now := time.Now()
	return a.IssueFor(tb, now.Add(-time.Hour), now.Add(time.Hour))
}

// IssueFor makes a certificate like that of Issue for another time.
func (a *Authority) IssueFor(tb testing.TB, from, to time.Time) Pair {
	tb.Helper()
	return a.issue(tb, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, NotBefore: from,
		NotAfter:    to,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// Set is the files of a server and of a client, signed by one authority. Their paths stay the same
// when the files are replaced.
type Set struct {
	CA             string // the authority's certificate
	Server, Client Pair
}

// NewSet returns the files of a new authority. They end with the test.
func NewSet(tb testing.TB) *Set {
	tb.Helper()
	dir := tb.TempDir()
	pair := func(name string) Pair {
		return Pair{Cert: filepath.Join(dir, name+".crt"), Key: filepath.Join(dir, name+".key")}
	}
	s := &Set{CA: filepath.Join(dir, "ca.crt"), Server: pair("server"), Client: pair("client")}
	s.Replace(tb)
	return s
}

// Replace replaces all files with those of a new authority.
func (s *Set) Replace(tb testing.TB) {
	tb.Helper()
	a := New(tb)
	server, client := a.Issue(tb), a.Issue(tb)
	for from, to := range map[string]string{
		a.Path: s.CA, server.Cert: s.Server.Cert, server.Key: s.Server.Key,
		client.Cert: s.Client.Cert, client.Key: s.Client.Key,
	} {
		Copy(tb, from, to)
	}
}

// Copy replaces the content of a file with that of another one.
func Copy(tb testing.TB, from, to string) {
	tb.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		tb.Fatal(err)
	}
	proctest.Write(tb, to, string(text))
}

// issue makes a certificate, of the authority itself if it has none.
func (a *Authority) issue(tb testing.TB, template *x509.Certificate) Pair {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	if a.cert == nil {
		a.cert, a.key = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		tb.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	p := Pair{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	proctest.Write(tb, p.Cert, text("CERTIFICATE", der))
	proctest.Write(tb, p.Key, text("EC PRIVATE KEY", private))
	return p
}

// text is what is in a file of PEM.
func text(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
