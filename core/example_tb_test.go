package core_test

import (
	"log"
	"testing"
)

// example stands in for the testing.TB of a test, which an example does not have.
var example testing.TB = exampleTB{}

// cleanups are what is to be done after the examples, which run one after the other.
var cleanups []func()

type exampleTB struct{ testing.TB }

func (exampleTB) Helper()                      {}
func (exampleTB) Cleanup(f func())             { cleanups = append(cleanups, f) }
func (exampleTB) Fatalf(f string, args ...any) { log.Fatalf(f, args...) }
func (exampleTB) Errorf(f string, args ...any) { log.Fatalf(f, args...) }
