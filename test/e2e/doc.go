// Package e2e tries Sluice as its users do: the built binary, the real model, HTTP and the command line.
//
// It is not a test of parts: those stand beside their code. Every server here is started on a free loopback port and is
// stopped by its process. The binary is bin/sluice, or what SLUICE_BIN names; without the model's files the tests are
// skipped, unless SLUICE_REQUIRE_MODEL is set, as make test does.
//
//	s := start(t)                          // sluice serve --listen 127.0.0.1:0 ...
//	text := s.complete(t, "Once", 16)      // POST /v1/completions
//	out := s.cli(t, "policy", "ls")        // sluice policy ls --admin ...
package e2e
