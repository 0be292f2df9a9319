package goodput

// MaxDraft is the most drafts of a row that are told apart by position.
const MaxDraft = 15

// How estimates begin and how fast they forget. A drafter counts as good until it was tried: a bad one is found out within a few
// drafts, a good one that is never tried is never found.
const (
	firstGuess    = 0.7
	guessWeight   = 2.0        // drafts that the guess for a position stands for
	commonWeight  = 4.0        // drafts that the common estimate stands for in a request's own
	positionDecay = 1 - 1.0/64 // by draft at that position
	requestDecay  = 1 - 1.0/16 // by draft of the request
)

// share is an exponentially weighted share of successes.
type share struct{ hits, tries float64 }

func (s *share) add(hit bool, decay float64) {
	s.hits, s.tries = s.hits*decay, s.tries*decay+1
	if hit {
		s.hits++
	}
}

// mean is the share, with prior standing for weight tries.
func (s *share) mean(prior, weight float64) float64 {
	return (s.hits + prior*weight) / (s.tries + weight)
}

// History is what became of one request's drafts. The zero value is a request without any.
type History struct {
	own   share
	pause int // steps with drafts on offer until it is tried again
	gap   int // the pause after the next failure
	begun bool
}

// acceptance is how often the draft at a position is accepted once those before it were.
type acceptance struct{ at [MaxDraft]share }

// learn takes in one verification: the first accepted of drafted drafts held. What stands behind the first rejection was never judged.
func (a *acceptance) learn(h *History, drafted, accepted int) {
	for i := range min(drafted, accepted+1, MaxDraft) {
		a.at[i].add(i < accepted, positionDecay)
		h.own.add(i < accepted, requestDecay)
	}
}

// common fills p with the estimate by position over all requests. What is known of a position says something of the next.
func (a *acceptance) common(p *[MaxDraft]float64) {
	prior := firstGuess
	for i := range p {
		prior = a.at[i].mean(prior, guessWeight)
		p[i] = prior
	}
}
