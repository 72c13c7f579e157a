package zktest

import (
	"bytes"
	"io"
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

// Options change how servers are set up. The zero Options is a server with ticks of
// 200 ms that accepts sessions of 0.4 to 60 s.
type Options struct {
	// Tick is the tick time; 0: 200 ms.
	Tick time.Duration
	// OwnBounds leaves the bounds of sessions as ZooKeeper has them: 2 and 20 ticks.
	OwnBounds bool
	// Lines are added to the configuration.
	Lines []string
}

func (o Options) tick() time.Duration {
	if o.Tick == 0 {
		return 200 * time.Millisecond
	}
	return o.Tick
}

// Server is a ZooKeeper in a process of its own.
type Server struct {
	Addr              string // host:port for clients
	Dir               string // the data folder
	home              string // configuration and log
	*proctest.Process        // of the last launch
}

// Start runs a single server that ends with the test.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	need(tb)
	var s *Server
	proctest.OnFreePorts(tb, 1, func(ports []int) bool {
		s = newServer(tb, ports[0])
		s.configure(tb, o, s.listen()...)
		s.launch(tb)
		return s.await(tb)
	}, func() string { return s.log() })
	return s
}

func need(tb testing.TB) {
	tb.Helper()
	proctest.Need(tb, "zookeeper default-jre-headless", "java", mainJar)
}

func newServer(tb testing.TB, port int) *Server {
	tb.Helper()
	home := tb.TempDir()
	s := &Server{
		Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), home: home,
		Dir: filepath.Join(home, "data"),
	}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the end of the log of %s:\n%s", s.Addr, s.log())
		}
	})
	return s
}

// listen are the lines of the configuration that say where the server is.
func (s *Server) listen() []string {
	host, port, _ := net.SplitHostPort(s.Addr)
	return []string{"clientPort=" + port, "clientPortAddress=" + host}
}

// configure writes the server's files.
func (s *Server) configure(tb testing.TB, o Options, lines ...string) {
	tb.Helper()
	config := append([]string{
		"tickTime=" + strconv.FormatInt(o.tick().Milliseconds(), 10),
		"initLimit=50", "syncLimit=20", "dataDir=" + s.Dir,
		"admin.enableServer=false", "4lw.commands.whitelist=*", "maxClientCnxns=0",
		"autopurge.purgeInterval=0", "preAllocSize=1024",
	}, slices.Concat(lines, o.Lines)...)
	if !o.OwnBounds {
		config = append(config, "minSessionTimeout=400", "maxSessionTimeout=120000")
	}
	logging := []string{
		// What is said of every connection and of every one that ends is left out.
		"log4j.logger.org.apache.zookeeper.server.NIOServerCnxn=ERROR",
		"log4j.logger.org.apache.zookeeper.server.ZooKeeperServer=ERROR",
		"log4j.rootLogger=WARN, FILE", "log4j.appender.FILE=org.apache.log4j.FileAppender",
		"log4j.appender.FILE.File=" + s.logFile(),
		"log4j.appender.FILE.layout=org.apache.log4j.PatternLayout",
		"log4j.appender.FILE.layout.ConversionPattern=%d{ISO8601} %-5p %c{1} %m%n",
	}
	for name, content := range map[string][]string{"zoo.cfg": config, "log4j.properties": logging} {
		if err := os.WriteFile(filepath.Join(s.home, name), []byte(strings.Join(content, "\n")+"\n"),
			0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

func (s *Server) logFile() string { return filepath.Join(s.home, "zk.log") }

// log returns the end of the server's log.
func (s *Server) log() string { return proctest.Tail(s.logFile()) }

// launch starts the process, and does not wait until it serves.
func (s *Server) launch(tb testing.TB) {
	tb.Helper()
	s.run(tb, "-XX:SharedArchiveFile="+archive(tb))
}

// run starts the process with one more option of the JVM.
func (s *Server) run(tb testing.TB, option string) {
	tb.Helper()
	cmd := exec.Command("java", option,
		"-Xms32m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Djava.net.preferIPv4Stack=true",
		"-Dzookeeper.forceSync=yes", "-Dzookeeper.jmx.log4j.disable=true", "-Dlog4j.configuration=file:"+
			filepath.Join(s.home, "log4j.properties"),
		"-cp", classPath, mainClass, filepath.Join(s.home, "zoo.cfg"))
	cmd.Dir = s.home
	s.Process = proctest.Start(tb, cmd)
}

// archive returns a file that has the classes of a server as the JVM has them in memory, which
// saves a third of the time that a start takes. A JVM that cannot use it does without.
func archive(tb testing.TB) string {
	tb.Helper()
	return proctest.Cached(tb, "zookeeper", func(path string) {
		s := newServer(tb, proctest.FreePorts(tb, 1)[0])
		s.configure(tb, Options{}, s.listen()...)
		s.run(tb, "-XX:ArchiveClassesAtExit="+path)
		s.await(tb)
		s.Terminate(tb)
		if _, err := os.Stat(path); err != nil {
			tb.Fatalf("ZooKeeper leaves no archive of its classes: %v\n%s", err, s.log())
		}
	}, "java", mainJar)
}

// await waits until the server serves; false: it ended before.
func (s *Server) await(tb testing.TB) bool {
	tb.Helper()
	return s.Serves(tb, func() bool { return s.Mode() != "" })
}

// Restart starts the server again with what is in its folder, and waits until it
// serves.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.launch(tb)
	if !s.await(tb) {
		tb.Fatalf("ZooKeeper does not start again:\n%s", s.log())
	}
}

// Mode returns what the server is: standalone, leader or follower; empty: it does not
// serve.
func (s *Server) Mode() string {
	answer, err := s.ask("srvr")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(answer) {
		if mode, ok := bytes.CutPrefix(line, []byte("Mode: ")); ok {
			return string(bytes.TrimSpace(mode))
		}
	}
	return ""
}

// ask sends one of the commands of four letters.
func (s *Server) ask(command string) ([]byte, error) {
	conn, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, command); err != nil {
		return nil, err
	}
	return io.ReadAll(conn)
}
