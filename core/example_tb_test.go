package core_test

import (
	"log"
	"testing"
)

// example stands in for the testing.TB of a test, which an example does not have.
var example testing.TB = exampleTB{}

type exampleTB struct{ testing.TB }

func (exampleTB) Helper()                      {}
func (exampleTB) Cleanup(func())               {}
func (exampleTB) Fatalf(f string, args ...any) { log.Fatalf(f, args...) }
