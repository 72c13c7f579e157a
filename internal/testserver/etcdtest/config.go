package etcdtest

import (
	"fmt"
	"net/url"
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
func (c config) embedded() *embed.Config {
	at := func(scheme, host string) []url.URL { return []url.URL{{Scheme: scheme, Host: host}} }
	clients := at("http", c.Client)
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = c.Name, c.Dir
	cfg.InitialCluster = c.Peers
	cfg.TickMs, cfg.ElectionMs = uint(c.Tick.Milliseconds()), uint(10*c.Tick.Milliseconds())
	cfg.UnsafeNoFsync = true
	if c.TLS != (TLS{}) {
		clients = at("https", c.Client)
		cfg.ClientTLSInfo = transport.TLSInfo{
			TrustedCAFile: c.TLS.CA, CertFile: c.TLS.Cert,
			KeyFile: c.TLS.Key, ClientCertAuth: true,
		}
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = clients, clients
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = at("http", c.Peer), at("http", c.Peer)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	return cfg
}

// start runs a member in this process and returns when it serves.
func (c config) start() (*embed.Etcd, error) {
	e, err := embed.StartEtcd(c.embedded())
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
