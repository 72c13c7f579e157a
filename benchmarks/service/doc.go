// Package service measures the service over HTTP and its client, beside a bare handler of net/http
// and beside a generator in the same process.
package service
