// Package admin is the operator's HTTP API: policies, status, traces, metrics and profiles, on a listener of its own, which
// may be a unix socket. docs/openapi.json describes it.
//
// It is not the API that clients of the model use (host/server) and decides nothing: policies are checked, swapped and
// recorded by package plugins/registry, traces are read from host/trace/store. Errors are problem+json (RFC 9457). What
// changes something, or is refused, goes to an audit log.
//
//	ln, err := admin.Listen("unix:/run/sluice.sock", token)
//	s := admin.New(admin.Options{Token: token, Policies: reg, Traces: traces, Status: status, Metrics: handler, Audit: log})
//	go s.Serve(ln)
//	defer s.Shutdown(ctx)
package admin
