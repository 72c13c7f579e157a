package tlsfiles

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
)

// maxFile is how many bytes a file may have: four times those of a system's authorities.
const maxFile = 1 << 20

// Options are the options of a URL that [FromURL] reads.
var Options = []string{"ca", "cert", "key"}

// Files are the paths of the files that one side of TLS has. An empty path means that there is no
// such file. Its methods read the files on each call and take as long as the disk. Their errors
// wrap an [*fs.PathError], which names the file.
type Files struct {
	CA        string // certificates of the authorities that sign those of the other side
	Cert, Key string // both or neither
}

// FromURL returns the files that a URL names. It reads them once: an error reports a file that
// cannot be used, or a certificate that is not valid now.
func FromURL(u *driver.URL) (*Files, error) {
	f := &Files{CA: u.Option("ca"), Cert: u.Option("cert"), Key: u.Option("key")}
	if err := f.Check(); err != nil {
		return nil, fmt.Errorf("options %s: %w", strings.Join(Options, ", "), err)
	}
	return f, nil
}

// None refuses the options of a URL without TLS that are about TLS, for which the
// scheme is secure.
func None(u *driver.URL, secure string) error {
	for _, name := range Options {
		if u.Has(name) {
			return fmt.Errorf("option %s is about TLS; write %s:// for TLS", name, secure)
		}
	}
	return nil
}

// Check returns an error if a client cannot use the files now.
func (f *Files) Check() error {
	if (f.Cert == "") != (f.Key == "") {
		return errors.New("cert and key belong together; give both, or neither")
	}
	if _, err := f.authorities(); err != nil {
		return err
	}
	pair, err := f.pair()
	if err != nil || f.Cert == "" {
		return err
	}
	now := time.UnixMicro(clock.System().UnixMicro())
	if from, to := pair.Leaf.NotBefore, pair.Leaf.NotAfter; now.Before(from) || now.After(to) {
		return fmt.Errorf("the certificate %s is valid from %s to %s, and now is %s; renew it, or "+
			"set this machine's clock", f.Cert, from.UTC().Format(time.RFC3339),
			to.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return nil
}

// Client returns the settings of a client for one connection. Without CA, the authorities are
// those of the system. They have no ServerName.
func (f *Files) Client() (*tls.Config, error) {
	roots, err := f.authorities()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	if f.Cert == "" {
		return config, nil
	}
	pair, err := f.pair()
	// The certificate is shown also to a server that does not name its authority.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &pair, nil
	}
	return config, err
}

// Server returns the settings of a server. With CA, a client has to have a certificate that one of
// these authorities has signed.
func (f *Files) Server() (*tls.Config, error) {
	roots, err := f.authorities()
	if err != nil {
		return nil, err
	}
	pair, err := f.pair()
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if f.CA != "" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, roots
	}
	return config, err
}

// Dial connects to a server with TLS, by settings that are read now, and checks that the
// certificate is that of the host in addr. A nil *Files connects without TLS.
func (f *Files) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if f == nil {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return f.dial(ctx, network, addr, nil)
}

func (f *Files) dial(ctx context.Context, network, addr string,
	protocols []string,
) (net.Conn, error) {
	config, err := f.Client()
	if err != nil {
		return nil, err
	}
	config.NextProtos = protocols
	return (&tls.Dialer{Config: config}).DialContext(ctx, network, addr)
}

// authorities reads the certificates of the authorities; nil: there is no such file.
func (f *Files) authorities() (*x509.CertPool, error) {
	if f.CA == "" {
		return nil, nil
	}
	text, err := drivers.ReadFile(f.CA, maxFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, &fs.PathError{
			Op: "authorities", Path: f.CA, Err: errors.New("no certificate in PEM form"),
		}
	}
	return pool, nil
}

// pair reads the certificate and its key; the zero Certificate: there are no such files.
func (f *Files) pair() (pair tls.Certificate, err error) {
	if f.Cert == "" {
		return pair, nil
	}
	cert, err := drivers.ReadFile(f.Cert, maxFile)
	if err != nil {
		return pair, err
	}
	key, err := drivers.ReadFile(f.Key, maxFile)
	if err != nil {
		return pair, err
	}
	if pair, err = tls.X509KeyPair(cert, key); err != nil {
		return pair, &fs.PathError{
			Op: "certificate", Path: f.Cert, Err: fmt.Errorf("with key %s: %w", f.Key, err),
		}
	}
	return pair, nil
}
