// Package measure finds out what a device's steps cost: how long a step of B sequences with k drafts each takes, a prompt
// token, a copy, a saved sequence. The scheduler plans with it, and a policy that speculates takes the k that pays.
//
// It is no benchmark of the model: contexts are short, few samples are taken, and it ends in time. It runs real steps on the
// device, which nothing else may use meanwhile, and leaves it empty.
//
//	report, err := measure.Run(ctx, dev, measure.Options{Limit: 5 * time.Second})
//	if err != nil {
//		return err // the device failed, or ctx ended
//	}
//	cfg.Costs = report.Costs
//
// A Store keeps reports in files, each under everything that step times depend on.
package measure
