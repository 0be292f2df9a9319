// Package trace is the record of each request and the formats that it travels in: JSON lines of our own, and the public
// traces that a replay can start from.
//
// It is not the store (host/trace/store keeps records in Badger) and computes no percentiles: a Record holds what was
// seen of one request, with each figure defined in one place (FromRequest, TPOT) and its invariants in Record.Validate.
//
//	loaded, err := trace.LoadFile("azure.csv", trace.Options{})
//	w := trace.NewWriter(os.Stdout)
//	for i := range loaded.Records {
//		err = w.Write(&loaded.Records[i])
//	}
//	err = w.Flush()
package trace
