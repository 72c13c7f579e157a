package drivers

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadFile_Overdue: a file whose file system does not answer is given up after a time. Until it
// has answered, no other read is begun.
func TestReadFile_Overdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		var reads atomic.Int32
		read := func(string, int) ([]byte, error) {
			reads.Add(1)
			<-answer
			return []byte("text"), nil
		}
		for range 3 {
			began := time.Now()
			_, err := within(readTime, "file", 9, read)
			if err == nil || !strings.Contains(err.Error(), "file: no answer within 5s") {
				t.Errorf("%v; want that there is no answer", err)
			}
			if took := time.Since(began); took > readTime {
				t.Errorf("it took %v", took)
			}
		}
		if n := reads.Load(); n != 1 {
			t.Errorf("%d reads were begun", n)
		}
		close(answer)
		synctest.Wait()
		if text, err := within(readTime, "file", 9, read); string(text) != "text" {
			t.Errorf("afterwards: %q, %v", text, err)
		}
	})
}
