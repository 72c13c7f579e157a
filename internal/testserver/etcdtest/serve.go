package etcdtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

const (
	// configEnv carries the configuration to a process that is to be a server.
	configEnv = "UNALIKE_TEST_ETCD"
	// readyLine is what a server prints when it serves.
	readyLine = "ready"
	// cheapest is the least work that a hash of a password may be.
	cheapest = 4
)

// init makes a process a server that was started to be one; it ends as one.
func init() {
	// Two segments are set aside when a server starts; 64 MB each would fill disks. That counts for
	// servers inside of tests as well.
	wal.SegmentSizeBytes = 1 << 20
	raw, ok := os.LookupEnv(configEnv)
	if !ok {
		return
	}
	if err := serve(raw); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve is a server until its standard input ends, which it does with the test.
func serve(raw string) error {
	var cfg config
	if err := json.Unmarshal([]byte(raw), &cfg); err != nil {
		return err
	}
	e, err := embed.StartEtcd(cfg.embedded())
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		return err
	case <-time.After(readyTime):
		return fmt.Errorf("member %s not ready after %v", cfg.Name, readyTime)
	}
	fmt.Println(readyLine)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// config is what a server needs to know. It is passed to processes as JSON.
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
	cfg.BcryptCost = cheapest // under the race detector, a login takes seconds otherwise
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
