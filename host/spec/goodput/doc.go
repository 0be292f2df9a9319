// Package goodput decides how many draft tokens each request of a step may verify, so that most tokens are emitted a second. It knows
// how often drafts were accepted, by position and by request, and what steps with drafts take, from a table that was measured on the
// device and from the steps that it is told of. It speculates only where that pays, and finds out now and then whether it would.
//
// It is not a drafter and not a policy: how many tokens a drafter has to offer is told to it, and a policy may decide otherwise. It reads no
// clock and draws nothing: equal calls give equal answers.
//
//	c := goodput.New(costs)
//	rows := []goodput.Row{{Of: &request.history, Most: offered}}
//	c.Plan(rows, slots)                       // sets rows[i].Draft
//	c.Verified(&request.history, drafted, accepted)
//	c.Took(len(rows), drafted, ns)            // a step without prompt tokens
package goodput
