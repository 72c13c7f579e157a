module github.com/unalike-id/unalike/faults

go 1.26.0

replace github.com/unalike-id/unalike => ../

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/unalike-id/unalike v0.0.0-00010101000000-000000000000
	golang.org/x/sys v0.49.0
)
