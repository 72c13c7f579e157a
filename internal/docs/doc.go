// Package docs has no code. Its test holds docs/architecture.md to the code: what it names
// is there.
package docs
