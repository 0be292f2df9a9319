// Package engine is the decode loop: it ties the scheduler, the policies, a device and a clock together and delivers
// tokens to whoever asked for them.
//
// It is not an HTTP server (host/server) and decides nothing itself (host/sched and the policies do). One goroutine owns
// the scheduler; arrivals, cancels and policy swaps come in through one inbox, which is also served while the device
// computes. No socket is ever written here: text goes into a bounded channel a request.
//
//	e, err := engine.New(engine.Config{Device: dev, Tokenizer: tok, Sched: cfg, Policies: host})
//	s, err := e.Submit(engine.Request{ID: "r1", Prompt: tokens, MaxTokens: 64, Arrival: e.Now()})
//	for ev := range s.Events() {
//		fmt.Print(ev.Text)
//	}
//	fmt.Println(s.Result().Outcome)
package engine
