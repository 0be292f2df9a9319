// Package loadtools tests the server with the load tools that people measure servers with, unchanged: the benchmark of vLLM,
// guidellm, aiperf and inference-perf. What they report must be what happened: every request that was served counts as a
// success of the length that was asked for, the time to the first token is the server's own, and what failed counts as a failure.
//
// It is no benchmark. The tools take 14 GB with vLLM, and the tests some minutes, so they run only where SLUICE_LOAD_TOOLS is set:
//
//	make clients
package loadtools
