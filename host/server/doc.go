// Package server is the data plane: the OpenAI-compatible HTTP API over an engine.
//
// It is not the admin API (host/admin), decides nothing about who runs when, and never holds the decode loop up: the
// engine hands text over in bounded channels, and only this package writes to sockets.
//
//	s, err := server.New(server.Config{Engine: e, Tokenizer: tok, Info: dev.Info(), Metrics: m})
//	ln, err := server.Listen("127.0.0.1:8080")
//	go s.Serve(ln)
//	...
//	s.Shutdown(ctx) // refuses what is new, lets what runs finish until ctx ends
//
// # Wire format
//
// The status of a streamed answer is held back until its first token, so that a request which is shed from the queue gets
// a real 503. The first chunk carries role and text, finish_reason stands on the last token's chunk (or follows at once),
// then come the usage chunk, if asked for, and [DONE]. There are no SSE comments. An error after the first byte is one
// "event: error", after which the connection is closed without the final chunk of the transfer encoding: clients read the
// message, and tools that know no error events see a broken body.
//
// # Requests
//
// Unknown keys are ignored. A key that is known and cannot be honoured is a 400 that names it. Without a temperature the
// answer is greedy. Headers: x-sluice-class, x-sluice-priority, x-sluice-tenant, x-sluice-queue-ttl, x-sluice-deadline,
// x-sluice-ttft, x-sluice-speculation, x-request-id. Refusals carry x-sluice-reason, and Retry-After or x-should-retry: false.
//
// The n choices of one request are so many requests of the engine, handed over together: one that is refused before the
// status goes out ends the others. Grammars (host/grammar) are checked here and followed by the engine.
package server
