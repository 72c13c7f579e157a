package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord/driver"
)

// Config reads the certificates that a URL names. That of the authority is read once; the client's
// is read again with each connection, so that one which is renewed needs no restart.
func Config(u *driver.URL, now clock.Clock) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if u.Has("ca") {
		pem, err := os.ReadFile(u.Option("ca"))
		if err != nil {
			return nil, fmt.Errorf("option ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("option ca: %s contains no certificate in PEM form", u.Option("ca"))
		}
	}
	switch {
	case u.Has("cert") != u.Has("key"):
		return nil, errors.New("options cert and key belong together; give both, or neither")
	case u.Has("cert"):
		pair, err := keyPair(u.Option("cert"), u.Option("key"), time.UnixMicro(now.UnixMicro()))
		if err != nil {
			return nil, fmt.Errorf("options cert and key: %w", err)
		}
		c := &certificate{cert: u.Option("cert"), key: u.Option("key")}
		c.last.Store(&pair)
		cfg.GetClientCertificate = c.get
	}
	return cfg, nil
}

// None refuses the options of a URL without TLS that are about TLS, for which the
// scheme is secure.
func None(u *driver.URL, secure string) error {
	for _, name := range []string{"ca", "cert", "key"} {
		if u.Has(name) {
			return fmt.Errorf("option %s is about TLS; write %s:// for TLS", name, secure)
		}
	}
	return nil
}

// certificate is a client's, in two files that may change.
type certificate struct {
	cert, key string
	last      atomic.Pointer[tls.Certificate] // that could be read
}

// get returns what the files have, or had before somebody began to replace them.
func (c *certificate) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	if pair, err := tls.LoadX509KeyPair(c.cert, c.key); err == nil {
		c.last.Store(&pair)
	}
	return c.last.Load(), nil
}

// keyPair reads a client certificate that is valid now.
func keyPair(cert, key string, now time.Time) (tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return pair, err
	}
	leaf := pair.Leaf
	if leaf == nil {
		if leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return pair, err
		}
	}
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return pair, fmt.Errorf("the certificate %s is valid from %s to %s, and now is %s; renew it, or "+
			"set this machine's clock",
			cert, leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339),
			now.UTC().Format(time.RFC3339))
	}
	return pair, nil
}
