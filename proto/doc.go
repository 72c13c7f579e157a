// Package proto holds the definition of the service for RPC, unalike.v1, and what is generated from
// it: package unalikev1 has the messages, package unalikev1connect a client and a handler for
// Connect, gRPC and gRPC-Web. scripts/proto makes them anew.
package proto
