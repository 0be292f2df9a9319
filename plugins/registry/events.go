package registry

import (
	"errors"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// itself stands in the history for what the host does.
const itself = "sluice"

// recorded are the events that nobody asked for.
var recorded = map[plugins.EventKind]store.Op{
	plugins.EventQuarantined: store.OpQuarantined, plugins.EventRestored: store.OpRestored, plugins.EventProbing: store.OpProbing,
	plugins.EventRecovered: store.OpRecovered, plugins.EventDropped: store.OpDropped,
}

// OnEvent is for plugins.Options.OnEvent: what the host does to policies by itself is recorded. It returns at once.
func (r *Registry) OnEvent(e plugins.Event) {
	if recorded[e.Kind] == "" {
		return
	}
	select {
	case r.events <- e:
	default:
		r.missed.Add(1)
	}
}

// listen records events until the registry closes, and then what is left of them.
func (r *Registry) listen() {
	for {
		select {
		case e := <-r.events:
			r.hear(e)
		case <-r.stop:
			for {
				select {
				case e := <-r.events:
					r.hear(e)
				default:
					return
				}
			}
		}
	}
}

// maxUnsaved bounds what is kept for a disk that does not take it.
const maxUnsaved = 256

// hear records one event. The set is read from the host, so an event that was missed costs its entry and nothing else.
func (r *Registry) hear(ev plugins.Event) {
	host, err := r.started()
	if err != nil {
		return
	}
	r.changing <- struct{}{}
	defer r.release()
	if n := r.missed.Swap(0); n > 0 {
		r.opt.Log.Warn("policies changed more often than could be recorded", "missed", n)
	}
	e := Entry{At: r.now(), Who: itself, Why: reason(ev), Op: recorded[ev.Kind], Name: ev.Name, Digest: ev.Digest}
	if i := find(host, ev.Name); i != nil {
		e.Left = r.leftBy(ev, i)
	}
	r.record(e)
}

// leftBy counts what a version did that decides no more.
func (r *Registry) leftBy(ev plugins.Event, i *plugins.PolicyInfo) *store.Left {
	switch {
	case ev.Kind == plugins.EventDropped:
		return leftShadow(i.Shadow)
	case ev.Kind != plugins.EventQuarantined:
		return nil
	case i.Digest == ev.Digest:
		return left(i)
	case i.Fallen != nil && i.Fallen.Digest == ev.Digest:
		return left(i.Fallen)
	}
	return nil
}

func reason(ev plugins.Event) string {
	if ev.Err != nil {
		return clipped(ev.Err.Error(), MaxWhy)
	}
	return ev.Reason
}

// record writes an entry for which nobody waits, with the set as it now is.
func (r *Registry) record(e Entry) {
	if len(r.unsaved) >= maxUnsaved {
		r.opt.Log.Error("what happened to policies is not recorded any more", "op", e.Op, "policy", e.Name)
		return
	}
	r.unsaved = append(r.unsaved, e)
	if _, err := r.flush(r.projected()); err != nil && !errors.Is(err, store.ErrClosed) {
		r.opt.Log.Error("cannot record what happened to policies; it is tried again with the next change", "op", e.Op, "policy", e.Name, "error", err)
	}
}
