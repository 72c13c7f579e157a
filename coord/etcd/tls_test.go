package etcd_test

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
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	path string // of its certificate
}

// pair is the paths of a certificate and its key.
type pair struct{ cert, key string }

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, path: filepath.Join(t.TempDir(), "ca.pem")}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	write(t, a.path, "CERTIFICATE", der)
	return a
}

// issue makes a certificate for 127.0.0.1, for servers and clients.
func (a *authority) issue(t *testing.T, from, to time.Time) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, NotBefore: from, NotAfter: to,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := pair{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	write(t, p.cert, "CERTIFICATE", der)
	write(t, p.key, "EC PRIVATE KEY", private)
	return p
}

func write(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTLS: a server that wants certificates, through the URL.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	now := time.Now()
	servers, mine := ca.issue(t, now.Add(-time.Hour), now.Add(time.Hour)), ca.issue(t, now.Add(-time.Hour), now.Add(time.Hour))
	server := etcdtest.StartTLS(t, etcdtest.TLS{CA: ca.path, Cert: servers.cert, Key: servers.key})
	for name, tc := range map[string]struct{ url, says string }{
		"all right":             {"etcds://" + server.Endpoint + "/ns?ca=" + ca.path + "&cert=" + mine.cert + "&key=" + mine.key, ""},
		"no client certificate": {"etcds://" + server.Endpoint + "/ns?ca=" + ca.path, server.Endpoint},
		"unknown authority":     {"etcds://" + server.Endpoint + "/ns?cert=" + mine.cert + "&key=" + mine.key, "unknown authority"},
		"no TLS":                {"etcd://" + server.Endpoint + "/ns", server.Endpoint},
	} {
		c, err := open(t, tc.url)
		if err == nil {
			_, err = c.Acquire(hurried(t), request(1))
		}
		switch {
		case tc.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
			t.Errorf("%s: %v; want an error that says %q", name, err, tc.says)
		case err != nil:
			t.Logf("%s: %v", name, err)
		}
	}
}
