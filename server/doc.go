// Package server hands out IDs and numbers over HTTP: as JSON, as text, as Meituan's Leaf does, and
// in gRPC, gRPC-Web and Connect.
//
//	cfg, err := config.Load("unalike.yaml")
//	if err != nil {
//		return err
//	}
//	ids, err := cfg.Start(ctx)
//	if err != nil {
//		return err
//	}
//	s, err := server.New(server.Config{Generators: map[string]*core.Generator{"orders": ids}})
//	if err != nil {
//		return err
//	}
//	go s.Run(ctx)
//	err = http.ListenAndServe("127.0.0.1:8080", s)
//
// [New] returns an http.Handler, so that a program can mount it, and [Server.Run] does the periodic
// work; the command 'unalike serve' adds listeners, TLS and signals.
//
// The server owns no generator: the program closes it, after the HTTP server has stopped.
// docs/service.md has the routes.
package server
