//go:build !unix

package embedded

import "errors"

func becomeNobody() error { return errors.New("there is no root to be given up here") }
