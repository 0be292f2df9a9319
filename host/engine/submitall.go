package engine

// SubmitAll hands requests to the loop that are the choices of one: see Submit.
func (e *Engine) SubmitAll(reqs []Request) ([]*Stream, error) {
	streams := make([]*Stream, 0, len(reqs))
	for _, r := range reqs {
		s, err := e.Submit(r)
		if err != nil {
			for _, s := range streams {
				s.Cancel()
			}
			return nil, err
		}
		streams = append(streams, s)
	}
	return streams, nil
}
