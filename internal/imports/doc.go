// Package imports has no code. Its test holds the packages of this module to what
// they may depend on.
package imports
