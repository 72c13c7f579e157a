package tlsfiles_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/tlsfiles"
)

// TestRenewed: a certificate that was replaced is shown to the next server, and while only one of
// its files was, the one before.
func TestRenewed(t *testing.T) {
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	write := func(serial int64, files ...string) tls.Certificate {
		t.Helper()
		pair, texts := selfSigned(t, serial)
		for _, file := range files {
			if err := os.WriteFile(file, texts[filepath.Base(file)], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return pair
	}
	server := write(1, cert, key)
	u, err := driver.ParseURL("etcds://h?cert=" + filepath.ToSlash(cert) + "&key=" +
		filepath.ToSlash(key))
	if err != nil {
		t.Fatal(err)
	}
	config, err := tlsfiles.Config(u, clock.System())
	if err != nil {
		t.Fatal(err)
	}
	config.InsecureSkipVerify = true // the server is not what is tested
	shown := func() int64 {
		t.Helper()
		here, there := net.Pipe()
		done := make(chan int64, 1)
		go func() {
			s := tls.Server(there, &tls.Config{
				Certificates: []tls.Certificate{server},
				ClientAuth:   tls.RequireAnyClientCert,
			})
			if err := s.HandshakeContext(t.Context()); err != nil {
				t.Error(err)
				done <- 0
				return
			}
			done <- s.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
		}()
		c := tls.Client(here, config)
		if err := c.HandshakeContext(t.Context()); err != nil {
			t.Error(err)
		}
		go func() { _, _ = c.Read(make([]byte, 1)) }() // the end of the handshake
		defer here.Close()
		return <-done
	}
	if n := shown(); n != 1 {
		t.Errorf("the certificate has number %d, want 1", n)
	}
	write(2, cert)
	if n := shown(); n != 1 {
		t.Errorf("half replaced: the certificate has number %d, want 1", n)
	}
	write(3, cert, key)
	if n := shown(); n != 3 {
		t.Errorf("replaced: the certificate has number %d, want 3", n)
	}
}

// selfSigned makes a certificate, and the text of its two files.
func selfSigned(t *testing.T, serial int64) (tls.Certificate, map[string][]byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
	pair, err := tls.X509KeyPair(texts["cert.pem"], texts["key.pem"])
	if err != nil {
		t.Fatal(err)
	}
	return pair, texts
}
