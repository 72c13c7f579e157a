//go:build !unix

package static

import "errors"

func becomeNobody() error { return errors.New("there is no root to be given up here") }
