package zktest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

const (
	jars      = "/usr/share/java"
	mainJar   = jars + "/zookeeper.jar"
	readyTime = proctest.ReadyTime
	// classes that the server needs; the manifest of the first names the rest.
	classPath = mainJar + ":" + jars + "/slf4j-log4j12.jar:" + jars + "/log4j-1.2.jar"
	mainClass = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
)

// logging is the configuration of what a server says. What it says of every connection and of every
// one that ends is left out.
const logging = `log4j.rootLogger=WARN, OUT
log4j.logger.org.apache.zookeeper.server.NIOServerCnxn=ERROR
log4j.logger.org.apache.zookeeper.server.ZooKeeperServer=ERROR
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d{ISO8601} %-5p %c{1} %m%n
`

// Options change how servers are set up. The zero Options is a server with ticks of
// 200 ms that accepts sessions of 0.4 to 60 s.
type Options struct {
	// Tick is the tick time; 0: 200 ms.
	Tick time.Duration
	// OwnBounds leaves the bounds of sessions as ZooKeeper has them: 2 and 20 ticks.
	OwnBounds bool
	// Elects makes a single server elect a leader, as several do.
	Elects bool
	// Heap is the memory of the server. Empty: 256m.
	Heap string
	// Lines are added to the configuration.
	Lines []string
}

// Server is a ZooKeeper in a process of its own.
type Server struct {
	Addr string // host:port for clients
	Dir  string // the data folder
	*proctest.Server
}

// Start runs a single server that ends with the test.
func Start(tb testing.TB, o Options) *Server { tb.Helper(); return StartAll(tb, 1, o)[0] }

// StartAll runs servers that end with the test. Several elect a leader.
func StartAll(tb testing.TB, n int, o Options) (all []*Server) {
	tb.Helper()
	proctest.Need(tb, "zookeeper default-jre-headless", "java", mainJar)
	archive := archive(tb)
	ports := proctest.FreePorts(tb, 3*n)
	if n > 1 || o.Elects {
		o.Lines = append(slices.Clone(o.Lines), "standaloneEnabled=false")
		for i := range n {
			o.Lines = append(o.Lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, ports[n+2*i],
				ports[n+2*i+1]))
		}
	}
	for i := range n {
		all = append(all, newServer(tb, i+1, ports[i], o, "-XX:SharedArchiveFile="+archive))
	}
	proctest.Restart(tb, all...)
	return all
}

// newServer writes the files of a server, which runs with an option of the JVM.
func newServer(tb testing.TB, id, port int, o Options, option string) *Server {
	tb.Helper()
	home := tb.TempDir()
	s := &Server{Addr: proctest.Addr(port), Dir: filepath.Join(home, "data")}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	config := append([]string{
		"clientPort=" + strconv.Itoa(port), "clientPortAddress=127.0.0.1",
		fmt.Sprintf("tickTime=%d", cmp.Or(o.Tick, 200*time.Millisecond).Milliseconds()),
		"initLimit=50", "syncLimit=20", "dataDir=" + s.Dir,
		"admin.enableServer=false", "4lw.commands.whitelist=*", "maxClientCnxns=0",
		"autopurge.purgeInterval=0", "preAllocSize=1024",
	}, o.Lines...)
	if !o.OwnBounds {
		config = append(config, "minSessionTimeout=400", "maxSessionTimeout=120000")
	}
	for name, text := range map[string]string{
		"zoo.cfg": strings.Join(config, "\n") + "\n", "log4j.properties": logging,
		"data/myid": strconv.Itoa(id),
	} {
		proctest.Write(tb, filepath.Join(home, name), text)
	}
	s.Server = proctest.NewServer(func() *exec.Cmd {
		cmd := exec.Command("java", option,
			"-Xms32m", "-Xmx"+cmp.Or(o.Heap, "256m"), "-XX:+UseSerialGC",
			"-XX:TieredStopAtLevel=1", "-Xshare:auto",
			"-Djava.net.preferIPv4Stack=true",
			"-Dzookeeper.forceSync=yes", "-Dzookeeper.jmx.log4j.disable=true",
			"-Dlog4j.configuration=file:log4j.properties", "-cp", classPath, mainClass, "zoo.cfg")
		cmd.Dir = home
		return cmd
	}, func() bool { return s.Mode() != "" })
	return s
}

// archive returns a file that has the classes of a server as the JVM has them in memory, which
// saves a third of the time that a start takes. A JVM that cannot use it does without.
func archive(tb testing.TB) string {
	tb.Helper()
	return proctest.Cached(tb, "zookeeper", func(path string) {
		s := newServer(tb, 1, proctest.FreePorts(tb, 1)[0], Options{}, "-XX:ArchiveClassesAtExit="+path)
		s.Restart(tb)
		s.Terminate(tb)
	}, "java", mainJar)
}

// Mode returns what the server is: standalone, leader or follower; empty: it does not
// serve.
func (s *Server) Mode() string {
	answer, _ := s.ask([]byte("srvr"), time.Second) // no answer says nothing
	_, mode, _ := bytes.Cut(answer, []byte("Mode: "))
	mode, _, _ = bytes.Cut(mode, []byte("\n"))
	return string(mode)
}

// Writes returns how many transactions there were since the last election.
func (s *Server) Writes(tb testing.TB) int64 {
	tb.Helper()
	answer, err := s.ask([]byte("srvr"), proctest.ReadyTime)
	_, id, _ := bytes.Cut(answer, []byte("Zxid: 0x"))
	id, _, _ = bytes.Cut(id, []byte("\n"))
	n, parsed := strconv.ParseInt(string(id), 16, 64)
	if err != nil || parsed != nil {
		tb.Fatalf("srvr: %q, %v", answer, err)
	}
	return n & math.MaxUint32
}

// ask sends a request, within limit, and returns what the server answers until it closes the
// connection, or until there is an error.
func (s *Server) ask(request []byte, limit time.Duration) ([]byte, error) {
	conn, err := net.DialTimeout("tcp", s.Addr, limit)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(limit)) // it fails if the connection is closed
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	return io.ReadAll(conn)
}
