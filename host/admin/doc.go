// Package admin is the operator's HTTP API: policies, status, traces, metrics and profiles, on a listener of its own.
//
// It is not the API that clients of the model use (host/server) and decides nothing: policies are checked and swapped by
// package plugins, traces are read from host/trace/store. Errors are problem+json (RFC 9457).
//
//	ln, err := admin.Listen("127.0.0.1:0", token)
//	s := admin.New(admin.Options{Token: token, Policies: policies, Traces: traces, Status: status, Metrics: handler})
//	go s.Serve(ln)
//	defer s.Shutdown(ctx)
package admin
