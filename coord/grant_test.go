package coord

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// A grant in a log does not show the token, in whichever form the log is.
func TestGrantLogged(t *testing.T) {
	var log bytes.Buffer
	g := Grant{WorkerID: 7, Generation: 3, Token: "4XTFQVZ2", NotBefore: 1, NotAfter: 9}
	slog.New(slog.NewTextHandler(&log, nil)).Info("granted", "grant", g)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("granted", "grant", g)
	if text := log.String(); strings.Contains(text, g.Token) ||
		!strings.Contains(text, "grant.workerID=7 grant.generation=3 grant.notBefore=1 "+
			"grant.notAfter=9") ||
		!strings.Contains(text, `"grant":{"workerID":7,"generation":3,"notBefore":1,"notAfter":9}`) {
		t.Errorf("the logs are\n%s", text)
	}
}
