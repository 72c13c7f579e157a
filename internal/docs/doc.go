// Package docs has no code. Its tests hold pages such as docs/architecture.md to the code: the
// names on them exist.
package docs
