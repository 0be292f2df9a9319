// Package store keeps policies on disk: modules by their digest, the set in force, and the history of its changes.
//
// It knows no policy host and decides nothing: plugins/registry does. One process has a store open at a time. What a crash
// or a power cut leaves is found whole at the next Open: a module, a manifest or a line of history is there or it is not.
//
//	s, err := store.Open("data/policies", store.Options{})
//	digest, err := s.Put(module)
//	err = s.Commit(&store.Manifest{Policies: []store.Policy{{Name: "queue-age", Version: store.Version{Digest: digest}}}},
//		store.Entry{Op: store.OpPush, Who: "ada"})
//	m, ok := s.Manifest()                    // the newest that is whole
//	wasm, err := s.Get(m.Policies[0].Digest) // its digest is checked: ErrDamaged
//	entries, err := s.History(10, 0)
package store
