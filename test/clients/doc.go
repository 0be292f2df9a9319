// Package clients tests the server with the official OpenAI clients, unchanged: openai-go in these tests, openai-python in
// testdata/client.py, openai for Node in testdata/client.mjs.
//
// It is not a test of the wire format itself (host/server has those), but of what real clients make of it: what they
// retry, when they stop, and what error a program sees.
//
//	make setup SETUP_FLAGS=--with-clients
//	go test ./test/clients
package clients
