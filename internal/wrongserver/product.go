package wrongserver

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// Products that drivers expect.
const (
	Etcd       = "etcd"
	Redis      = "Redis"
	ZooKeeper  = "ZooKeeper"
	Kubernetes = "a Kubernetes API server"
	PostgreSQL = "PostgreSQL"
	MySQL      = "MySQL or MariaDB"
)

// Other products that some of them are told from.
const (
	http1 = "an HTTP server"
	http2 = "an HTTP/2 server" // as etcd is
	ssh   = "an SSH server"
	mail  = "a mail or FTP server"
	ofTLS = "a server with TLS"
)

// Requests. Each product answers one of them in its own way.
const (
	nothing    = "" // for servers that speak first
	getVersion = "GET /version HTTP/1.0\r\n\r\n"
	// preface begins a connection of HTTP/2: the fixed text, and a frame of settings without any.
	preface    = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	sslRequest = "\x00\x00\x00\x08\x04\xd2\x16\x2f" // of PostgreSQL
	srvr       = "srvr"                             // of ZooKeeper
)

// found is the product of an answer. The zero value is an unknown one.
type found struct {
	product string
	detail  string // its version, for example
}

func (f found) String() string { return strings.TrimSpace(f.product + " " + f.detail) }

// signs are beginnings of greetings and answers that only one product gives.
var signs = []struct{ begin, product string }{
	{"SSH-", ssh},
	{"220 ", mail},
	{"220-", mail},
	{"* OK", "an IMAP server"},
	{"+OK", "a POP3 server"},
	{"INFO {", "NATS"},
	{"ERROR\r\n", "memcached"},
	{"AMQP", "RabbitMQ"},
	{"Zookeeper version: ", ZooKeeper},
	{"srvr is not executed because it is not in the whitelist", ZooKeeper},
	{"This ZooKeeper instance is not currently serving requests", ZooKeeper},
}

var (
	// postgresError is an error of PostgreSQL: its length, and its severity.
	postgresError = regexp.MustCompile(`^E\x00\x00(?s:..)S`)
	// tlsAlert is an alert of TLS: its version and its length.
	tlsAlert = regexp.MustCompile(`^\x15\x03[\x00-\x04]\x00\x02`)
)

// productOf returns the product that gives an answer to a request. It is the zero value for answers
// of proxies without a server behind them.
func productOf(sent string, answer []byte) found {
	text := string(answer)
	if f := mysqlServer(answer); f.product != "" {
		return f
	}
	for _, sign := range signs {
		if strings.HasPrefix(text, sign.begin) {
			return found{sign.product, detailOf(sign.product, text)}
		}
	}
	switch {
	case sent == sslRequest && (text == "S" || text == "N"), postgresError.MatchString(text):
		return found{PostgreSQL, ""}
	case tlsAlert.MatchString(text):
		return found{ofTLS, ""} // the alert of a server that gets something else
	case sent == preface && len(text) >= 9 && text[:2] == "\x00\x00" && text[3] == 4:
		return found{http2, ""}
	case strings.HasPrefix(text, "HTTP/"):
		return httpServer(text)
	case isRedis(text):
		return found{Redis, ""}
	}
	return found{}
}

// detailOf returns the version in the first line of an answer.
func detailOf(product, answer string) string {
	line, _, _ := strings.Cut(answer, "\n")
	switch product {
	case ZooKeeper:
		version, _, _ := strings.Cut(line, "-")
		if version, ok := strings.CutPrefix(version, "Zookeeper version: "); ok {
			return inBrackets(version)
		}
	case ssh, mail:
		return inBrackets(line)
	}
	return ""
}

// inBrackets returns the beginning of a text, in brackets, if it is printable ASCII.
func inBrackets(s string) string {
	s = strings.TrimSpace(s[:min(len(s), 40)])
	if s == "" || strings.Trim(strconv.QuoteToASCII(s), `"`) != s {
		return ""
	}
	return "(" + s + ")"
}

// isRedis reports whether an answer is an error of Redis: a minus, a word in capitals, and a text.
func isRedis(answer string) bool {
	text, minus := strings.CutPrefix(answer, "-")
	word, _, _ := strings.Cut(text, " ")
	return minus && word != "" && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// mysqlServer reads the first packet of a MySQL or a MariaDB: its length, the number 0, and a
// greeting or an error.
func mysqlServer(answer []byte) found {
	const greeting, refusal = 10, 0xff
	if len(answer) < 6 || int(answer[0])|int(answer[1])<<8|int(answer[2])<<16 != len(answer)-4 ||
		answer[3] != 0 {
		return found{}
	}
	switch answer[4] {
	case greeting:
		version, _, _ := bytes.Cut(answer[5:], []byte{0})
		return found{MySQL, inBrackets(strings.TrimPrefix(string(version), "5.5.5-"))}
	case refusal:
		return found{MySQL, ""}
	}
	return found{}
}

// httpServer returns the product of an answer of HTTP. It is the zero value for a status by which a
// server behind a proxy is away or busy.
func httpServer(answer string) found {
	fields := strings.Fields(answer)
	if len(fields) < 2 {
		return found{}
	}
	switch status, err := strconv.Atoi(fields[1]); {
	case err != nil || status == 408 || status == 425 || status == 429:
		return found{}
	case status >= 500 && status != 501 && status != 505: // these two are about the request
		return found{}
	}
	head, body, _ := strings.Cut(answer, "\r\n\r\n")
	if _, version, ok := strings.Cut(body, `"etcdserver":"`); ok {
		version, _, _ = strings.Cut(version, `"`)
		return found{Etcd, inBrackets(version)}
	}
	if strings.Contains(body, `"gitVersion"`) {
		return found{Kubernetes, ""}
	}
	_, server, _ := strings.Cut(head, "\r\nServer: ")
	server, _, _ = strings.Cut(server, "\r\n")
	return found{http1, inBrackets(server)}
}
