// Package kubetest runs a real Kubernetes API server for tests: the binary that
// scripts/kubernetes has built from source, over the etcd of package etcdtest. There are no
// nodes and no controllers, so that nothing but objects comes of what is applied.
package kubetest
