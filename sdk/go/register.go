package sluice

var (
	configurer  Configurer
	admitter    Admitter
	prioritizer Prioritizer
	batchCapper BatchCapper
	speculator  Speculator
	eventSink   EventSink
	stateSaver  StateSaver

	registered bool
)

// Register makes p the module's policy. Call it once, in an init function. It panics, so that the module does not load,
// when p is not the only one or implements no hook that decides or listens. A method whose signature is slightly off is not
// a hook: a line like `var _ sluice.Admitter = (*policy)(nil)` makes the compiler say so.
func Register(p any) {
	if registered {
		panic("sluice.Register was called twice: a module holds one policy")
	}
	if HooksOf(p)&^(HookConfigure|HookState) == 0 {
		panic("sluice.Register: the policy implements none of Admitter, Prioritizer, BatchCapper, Speculator and EventSink")
	}
	registered = true
	configurer, _ = p.(Configurer)
	admitter, _ = p.(Admitter)
	prioritizer, _ = p.(Prioritizer)
	batchCapper, _ = p.(BatchCapper)
	speculator, _ = p.(Speculator)
	eventSink, _ = p.(EventSink)
	stateSaver, _ = p.(StateSaver)
	hooks = HooksOf(p)
	if r, ok := p.(FieldReader); ok {
		reads = r.Reads() | GroupBasic
	}
}

// HooksOf is the set of hooks that p's type implements.
func HooksOf(p any) (h Hook) {
	if _, ok := p.(Configurer); ok {
		h |= HookConfigure
	}
	if _, ok := p.(Admitter); ok {
		h |= HookAdmit
	}
	if _, ok := p.(Prioritizer); ok {
		h |= HookPrioritize
	}
	if _, ok := p.(BatchCapper); ok {
		h |= HookBatchCap
	}
	if _, ok := p.(Speculator); ok {
		h |= HookSpeculate
	}
	if _, ok := p.(EventSink); ok {
		h |= HookEvents
	}
	if _, ok := p.(StateSaver); ok {
		h |= HookState
	}
	return h
}
