package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord/driver"
)

// Config reads the certificates that a URL names. They are read once; a program
// whose certificates change makes its own client and passes that to the driver.
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
		cfg.Certificates = []tls.Certificate{pair}
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
		return pair, fmt.Errorf("the certificate %s is valid from %s to %s, and now is %s; renew it, or set this machine's clock",
			cert, leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return pair, nil
}
