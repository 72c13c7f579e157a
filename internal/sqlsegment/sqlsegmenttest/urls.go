package sqlsegmenttest

import (
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/segment"
)

// URLs opens stores by URLs that are right, and by others, each with what is said of it. The
// password is not said.
func (d *Database) URLs(password string, right []string, wrong map[string]string) {
	for _, url := range right {
		s, err := segment.Open(d.Within(), url, segment.OpenOptions{})
		if err == nil {
			_, err = s.Tags(d.Within())
			_ = s.Close()
		}
		d.WantErr(url, err, nil, "")
	}
	for url, says := range wrong {
		_, err := segment.Open(d.Within(), url, segment.OpenOptions{})
		d.WantErr(url, err, segment.ErrInvalidConfig, says)
		if strings.Contains(fmt.Sprint(err), password) {
			d.Errorf("%s: the error has the password: %v", url, err)
		}
	}
}
