package etcdtest

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

const readyTime = proctest.ReadyTime

// Two segments are set aside when a member starts; 64 MB each would fill disks.
func init() { wal.SegmentSizeBytes = 1 << 20 }

// config is what a member needs to know. It is passed to processes as JSON.
type config struct {
	Name   string // of the member
	Dir    string // its data folder
	Client string // host:port
	Peer   string // host:port for other members
	Peers  string // initial cluster: name=URL,name=URL
	Tick   time.Duration
	TLS    TLS
}

// TLS is the files of a server that wants certificates of its clients. The zero TLS
// is none.
type TLS struct {
	CA, Cert, Key string
}

// embedded returns the configuration of the server.
func (c config) embedded() (*embed.Config, error) {
	protocol := "http://"
	if c.TLS != (TLS{}) {
		protocol = "https://"
	}
	client, err := url.Parse(protocol + c.Client)
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse("http://" + c.Peer)
	if err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = c.Name, c.Dir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = c.Peers
	cfg.TickMs, cfg.ElectionMs = uint(c.Tick.Milliseconds()), uint(10*c.Tick.Milliseconds())
	cfg.UnsafeNoFsync = true
	if c.TLS != (TLS{}) {
		cfg.ClientTLSInfo = transport.TLSInfo{
			TrustedCAFile: c.TLS.CA, CertFile: c.TLS.Cert,
			KeyFile: c.TLS.Key, ClientCertAuth: true,
		}
	}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	return cfg, nil
}

// start runs a member in this process and returns when it serves.
func (c config) start() (*embed.Etcd, error) {
	cfg, err := c.embedded()
	if err != nil {
		return nil, err
	}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, nil
	case err = <-e.Err():
	case <-time.After(readyTime):
		err = fmt.Errorf("member %s not ready after %v", c.Name, readyTime)
	}
	e.Close()
	return nil, err
}

// freeAddrs returns n addresses on loopback that nobody listens on.
func freeAddrs(tb testing.TB, n int) []string {
	tb.Helper()
	addrs := make([]string, n)
	for i, port := range proctest.FreePorts(tb, n) {
		addrs[i] = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return addrs
}
