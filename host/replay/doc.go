// Package replay runs a recorded or imported trace through the scheduler in virtual time: the same host/sched, the same
// policies, and a simulated device in place of a real one. It answers "how would this policy have fared" before it
// meets a user, and repeats itself: the same input gives the same bytes.
//
// It is not a benchmark of the device: step times come from gpu/sim. No policy sees how long an answer will be; a
// request only ends when its length is reached. Lengths that the trace does not know (of shed and cancelled requests)
// are drawn from those that it does.
//
//	in := replay.Input{Records: loaded.Records, Sim: profile, Seed: 1}
//	report, err := replay.NewReport(ctx, in, replay.Side{Name: "a.wasm", New: loadA}, replay.Side{Name: "native"}, 100)
//	err = report.WriteText(os.Stdout)
package replay
