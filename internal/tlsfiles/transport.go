package tlsfiles

import (
	"context"
	"net"
	"net/http"
)

// Transport returns base with connections that follow the files; without files it returns base. A
// request for https that goes through a proxy has a connection of its own, because base keeps the
// authorities of such connections for as long as it lives.
func (f *Files) Transport(base *http.Transport) http.RoundTripper {
	if f == nil {
		return base
	}
	var protocols []string
	if base.ForceAttemptHTTP2 {
		protocols = []string{"h2", "http/1.1"}
	}
	base.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if base.TLSHandshakeTimeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, base.TLSHandshakeTimeout)
			defer cancel()
		}
		return f.dial(ctx, network, addr, protocols)
	}
	return &transport{base, f}
}

// transport is a [http.Transport] whose connections follow files.
type transport struct {
	*http.Transport
	files *Files
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.Proxy == nil || r.URL.Scheme != "https" {
		return t.Transport.RoundTrip(r)
	}
	if proxy, err := t.Proxy(r); proxy == nil || err != nil {
		return t.Transport.RoundTrip(r)
	}
	config, err := t.files.Client()
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	once := t.Clone()
	once.TLSClientConfig, once.DisableKeepAlives = config, true
	return once.RoundTrip(r)
}
