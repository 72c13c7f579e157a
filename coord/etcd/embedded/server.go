package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/filelock"
)

const (
	// A cluster of one has nobody to wait for: an election is over when its timeout is.
	tick     = 10 * time.Millisecond
	election = 50 * time.Millisecond

	// snapshotEvery is after how many writes the log may begin anew: what a start reads.
	snapshotEvery = 5000
	// keepRevisions is how many past revisions etcd keeps; nobody here reads any.
	keepRevisions = 1000
	// keepFiles is how many files that are not needed any more are kept.
	keepFiles = 1

	// readyTime is how long a server may take to start.
	readyTime = 20 * time.Second
	// stopTime is how long a server that failed may take to end.
	stopTime = 5 * time.Second
)

// server is an etcd that runs in this process, and the lock that says so.
type server struct {
	folder folder
	lock   *filelock.File
	fatal  *fatalHook
	etcd   *embed.Etcd
	grpc   *grpc.Server
	post   post
}

// host starts the server of a folder whose lock the caller has, and says where it is.
// If it fails, the lock is free again, unless the error wraps errStuck.
func host(ctx context.Context, f folder, lock *filelock.File) (*server, error) {
	s := &server{folder: f, lock: lock, fatal: newFatalHook()}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) start(ctx context.Context) error {
	f := s.folder
	// Whoever takes over a folder whose mark somebody has deleted must not take its
	// data for what a first start has left.
	if err := f.prepare(); err != nil { //mutant:embed-mark-gone
		return err
	}
	if err := f.removePost(); err != nil {
		return err
	}
	m, err := f.readMark()
	if err != nil {
		return err
	}
	if !m.Served {
		if err := f.removeHalfMade(); err != nil {
			return err
		}
		if err := f.write(nameMark, m); err != nil {
			return err
		}
	}
	if err := s.run(ctx, m); err != nil {
		return f.fail("start etcd", err)
	}
	if !m.Served {
		m.Served = true
		if err := f.write(nameMark, m); err != nil {
			return err
		}
	}
	if err := f.noteServed(); err != nil {
		return err
	}
	s.compact(ctx)
	return f.write(namePost, s.post)
}

// compact forgets past revisions, as etcd itself does every five minutes; many programs
// end sooner.
func (s *server) compact(ctx context.Context) {
	kv := s.etcd.Server.KV()
	if now := kv.Rev(); now-kv.FirstRev() > 2*keepRevisions {
		// If this fails, the next start tries again.
		_, _ = s.etcd.Server.Compact(ctx, &pb.CompactionRequest{Revision: now - keepRevisions})
	}
}

// run starts etcd and waits until it serves.
func (s *server) run(ctx context.Context, m mark) error {
	registered := make(chan *grpc.Server, 1)
	cfg := s.folder.config(m.Folder, s.fatal)
	cfg.ServiceRegister = func(g *grpc.Server) { registered <- g }
	var failed error
	if err := s.fatal.guarded(func() {
		s.etcd, failed = embed.StartEtcd(cfg)
	}); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	timer := time.NewTimer(readyTime)
	defer timer.Stop()
	select {
	case s.grpc = <-registered: // is done when the server is ready
	case err := <-s.etcd.Err():
		return silent(err)
	case <-s.fatal.sprung:
		return s.fatal.err
	case <-timer.C:
		return fmt.Errorf("it is not ready after %v", readyTime)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.post = post{
		Version: formatVersion, Folder: m.Folder, Address: s.etcd.Clients[0].Addr().String(),
		PID: os.Getpid(),
	}
	return nil
}

// config is how etcd is to run in the folder.
func (f folder) config(token string, t *fatalHook) *embed.Config {
	// There are no other members. An address that nobody listens on is enough.
	anyPort := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = "unalike", f.file(nameData)
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = nil, []url.URL{anyPort}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{anyPort}, []url.URL{anyPort}
	cfg.InitialCluster = cfg.Name + "=" + anyPort.String()
	cfg.InitialClusterToken = token
	cfg.TickMs, cfg.ElectionMs = uint(tick.Milliseconds()), uint(election.Milliseconds())
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = snapshotEvery, 100
	cfg.MaxSnapFiles, cfg.MaxWalFiles = keepFiles, keepFiles
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModeRevision,
		fmt.Sprint(keepRevisions)
	cfg.EnableGRPCGateway = false // it would pass calls on that say nothing of a folder
	// /debug/vars has the command line and the memory of this process: for nobody who
	// cannot read the folder.
	cfg.HostWhitelist = map[string]struct{}{token: {}} //mutant:embed-debug
	cfg.GRPCAdditionalServerOptions = guard(token)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(t.logger())
	return cfg
}

// silent is the error of a server one of whose listeners has ended, with an error or
// without. Nobody can connect to it any more.
func silent(err error) error {
	if err == nil {
		return errors.New("it has stopped listening")
	}
	return fmt.Errorf("it has stopped listening: %w", err)
}

// failed reports whether the server cannot go on: its disk or its listener failed, or
// somebody deleted its folder. Err is then not nil. The server is then to be stopped: what
// a listener said is said once.
func (s *server) failed() error {
	select {
	case <-s.fatal.sprung:
		return s.fatal.err
	case <-s.etcd.Server.StopNotify():
		return errors.New("it has stopped")
	case err := <-s.etcd.Err(): // is closed by Close only, after which nobody asks
		return silent(err)
	default:
	}
	if !s.lock.Current() { //mutant:embed-deleted
		return errors.New("the folder was deleted or its lock file was")
	}
	return nil
}

// errStuck says that etcd is half dead. It has its files open still and could write to
// them, so nobody else may until this process ends.
var errStuck = fmt.Errorf("part of the etcd does not end; its folder stays locked until this "+
	"process, %d, ends", os.Getpid())

// kept are the locks of such folders. A lock that nothing refers to would be collected
// as garbage, and so be freed.
var kept struct {
	sync.Mutex
	locks []*filelock.File
}

// stop ends the server, takes back where it is, and frees the lock; or else it returns
// errStuck. The nil server does nothing.
func (s *server) stop() error {
	if s == nil {
		return nil
	}
	if s.grpc != nil {
		// Watches of others can hold up an orderly end for seconds. Calls that are
		// under way fail, and are made again elsewhere.
		s.grpc.Stop()
	}
	if !s.close() {
		kept.Lock()
		defer kept.Unlock()
		kept.locks = append(kept.locks, s.lock)
		return errStuck
	}
	if s.lock.Current() {
		_ = s.folder.removePost() // if it stays, it leads nowhere
	}
	s.lock.Unlock()
	return nil
}

// close ends etcd and reports whether all of it has ended.
func (s *server) close() bool {
	if s.etcd == nil {
		return s.fatal.err == nil // it never started, or only half
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.etcd.Close()
		if s.etcd.Server != nil {
			<-s.etcd.Server.StopNotify()
		}
	}()
	select {
	case <-s.fatal.sprung:
		// Part of it is missing, so it may not end.
		timer := time.NewTimer(stopTime)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			return false
		}
	case <-done:
	}
	return true
}
