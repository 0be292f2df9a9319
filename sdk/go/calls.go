package sluice

import "unsafe"

// The memory that the host writes to and reads from. It never moves: Go's collector does not move globals.
var (
	hooks  Hook
	reads  Group // 0 = all
	state  State
	rows   [MaxRows]Row
	events [MaxRows]Event
	config [16 << 10]byte
	out    output
	saved  [SaveRoom]byte
	kept   []byte // what Save returned, in case that it grew out of saved

	descriptor Descriptor

	abstentions [MaxRows]Verdict // what verdicts begin as: copying them is quicker than writing field by field
)

func init() {
	for i := range abstentions {
		abstentions[i] = Abstain()
	}
}

// output is as large as the largest answer. The others are views of the same bytes.
type output [MaxRows]Verdict

func (o *output) verdicts(n int32) []Verdict { return o[:n] }

func (o *output) rankings(n int32) []Ranking {
	return (*[MaxRows]Ranking)(unsafe.Pointer(o))[:n]
}

func (o *output) batchPlan() *BatchPlan { return (*BatchPlan)(unsafe.Pointer(o)) }

// specPlan is a plan with a k for each row behind it.
type specPlan struct {
	plan SpecPlan
	k    [MaxRows]int32
}

func (o *output) specPlan() *specPlan { return (*specPlan)(unsafe.Pointer(o)) }

// The compiler rejects a negative size when an answer does not fit.
var (
	_ [unsafe.Sizeof(out) - MaxRows*RankingSize]struct{}
	_ [unsafe.Sizeof(out) - unsafe.Sizeof(specPlan{})]struct{}
	_ [unsafe.Sizeof(out) - BatchPlanSize]struct{}
)

// fault is a return value that the host takes for a failure: it called for something that the descriptor does not offer.
const fault = -1

// within reports whether the host's n fits the buffers.
func within(n int32) bool { return uint32(n) <= MaxRows }

func result(decided bool) int32 {
	if decided {
		return int32(ReturnDecided)
	}
	return int32(ReturnAbstain)
}

func callConfigure(n int32) int32 {
	if configurer == nil || uint32(n) > uint32(len(config)) {
		return fault
	}
	if err := configure(configurer, config[:n]); err != nil {
		logText(LevelError, err.Error())
		return 1
	}
	return 0
}

func configure(p Configurer, json []byte) error {
	c, err := ParseConfig(json)
	if err != nil {
		return err
	}
	return c.Apply(p)
}

func callAdmit(n int32) int32 {
	if admitter == nil || !within(n) {
		return fault
	}
	o := out.verdicts(n)
	copy(o, abstentions[:])
	admitter.Admit(&state, rows[:n], o)
	return int32(ReturnDecided)
}

func callPrioritize(n int32) int32 {
	if prioritizer == nil || !within(n) {
		return fault
	}
	o := out.rankings(n)
	clear(o)
	return result(prioritizer.Prioritize(&state, rows[:n], o))
}

func callBatchCap() int32 {
	if batchCapper == nil {
		return fault
	}
	o := out.batchPlan()
	*o = BatchPlan{}
	return result(batchCapper.BatchCap(&state, o))
}

func callSpeculate(n int32) int32 {
	if speculator == nil || !within(n) {
		return fault
	}
	o := out.specPlan()
	o.plan = SpecPlan{}
	k := o.k[:n]
	for i := range k {
		k[i] = -1
	}
	return result(speculator.Speculate(&state, rows[:n], &o.plan, k))
}

func callEvents(n int32) int32 {
	if eventSink == nil || !within(n) {
		return fault
	}
	eventSink.Events(&state, events[:n])
	return int32(ReturnDecided)
}

// callSave returns the bytes to keep; the host reads them before it calls again.
func callSave() []byte {
	if stateSaver == nil {
		return nil
	}
	kept = stateSaver.Save(saved[:0])
	return kept
}

func callRestore(n int32) int32 {
	if stateSaver == nil || uint32(n) > uint32(len(config)) {
		return fault
	}
	if err := stateSaver.Restore(config[:n]); err != nil {
		logText(LevelWarn, err.Error())
		return int32(ReturnAbstain)
	}
	return int32(ReturnDecided)
}
