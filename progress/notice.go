package progress

import "strings"

// FirstNotice is the number of tokens at which a run is long enough to speak of.
const FirstNotice = 1_000_000

// NoticeOptions is what a notice needs to know beside the figures.
type NoticeOptions struct {
	// Local: the model runs on the user's own machine, so money is not spoken of.
	Local bool
	// Priced: the price of the model is known. Only then is the cost mentioned, and
	// only when there is one.
	Priced bool
	// Unchanged is how many of the tokens were spent since anything last changed; 0
	// when that is not known. It matters once it is half of them.
	Unchanged int64
	// Threshold is the number of tokens, child runs included, from which a run has
	// spent much. 0 is [FirstNotice]; negative is none, so that any run is judged.
	Threshold int64
}

// LongRunNotice is what to say of a run that has spent much. There are two
// messages, and which one it is is the point. A run that is getting somewhere
// hears what it did and what that took, with the arithmetic of it, and no
// suggestion that anything is wrong, because nothing is. A run that has changed
// nothing, or does only what it did before, hears exactly that: it is the one
// worth stopping.
//
// A run below the threshold has spent little: it may just have begun, or wait for a
// person. It hears what there is to say of it, and no judgement.
//
// Neither recommends a turn limit, which would stop a run at a number that has
// nothing to do with its work.
func LongRunNotice(s RunSpend, p RunProgress, o NoticeOptions) string {
	var sentences []string
	switch {
	case s.all() < o.threshold():
		sentences = soFar(s, p, o)
	case !IsGettingSomewhere(p):
		sentences = changedNothing(s, p, o)
	case p.inCircles():
		sentences = wentInCircles(s, p, o)
	case o.Unchanged > 0 && o.Unchanged >= s.all()-o.Unchanged:
		sentences = stoppedChanging(s, p, o)
	default:
		sentences = working(s, p, o)
	}
	return strings.Join(sentences, " ")
}

func (o NoticeOptions) threshold() int64 {
	if o.Threshold == 0 {
		return FirstNotice
	}
	return o.Threshold
}

// soFar tells of a run that has not spent much yet.
func soFar(s RunSpend, p RunProgress, o NoticeOptions) []string {
	var sentences []string
	if IsGettingSomewhere(p) {
		sentences = working(s, p, o)
	} else {
		sentences = append([]string{"Nothing " + hasChanged(p) + " in this run so far."}, used(s, o)...)
		if did := lookedAt(p); len(did) > 0 {
			sentences = append(sentences, "What it did: "+list(did)+".")
		}
	}
	if p.inCircles() {
		sentences = append(sentences, repeated(p))
	}
	return sentences
}

// hasChanged says no more than is known.
func hasChanged(p RunProgress) string {
	if p.Others > 0 {
		return "is known to have changed"
	}
	return "has changed"
}

// working tells of a run that does its work.
func working(s RunSpend, p RunProgress, o NoticeOptions) []string {
	sentences := []string{
		"Done so far: " + list(achieved(p)) + ".",
		"It took " + requests(s) + tokens(s.Tokens) + ".",
	}
	counted := plus(s.PromptTokens, s.CompletionTokens)
	if average := roundedQuotient(s.Tokens, s.Requests); s.Requests > 1 && average > 0 {
		words := strings.TrimPrefix(tokens(average), "about ")
		why := ", because each request reads the whole conversation again"
		if s.CompletionTokens > counted/2 {
			why = "" // it is not reading that made the total
		}
		sentences = append(sentences, "That is about "+words+" a request"+why+".")
	}
	var shares []string
	if part := share(s.CompletionTokens, counted); part != "" && s.PromptTokens > 0 {
		shares = append(shares, part+" of the tokens were newly written")
	}
	if part := share(s.CachedTokens, s.PromptTokens); part != "" {
		shares = append(shares, part+" of what was read came from the cache")
	}
	if len(shares) > 0 {
		sentences = append(sentences, sentence(list(shares)))
	}
	return append(sentences, beside(s, o)...)
}

// changedNothing tells of a run that has nothing to show.
func changedNothing(s RunSpend, p RunProgress, o NoticeOptions) []string {
	missing := "no file edited, no command that succeeded"
	switch {
	case p.StepsTotal == 1:
		missing += ", the only step not finished"
	case p.StepsTotal > 1:
		missing += ", none of " + grouped(int64(p.StepsTotal)) + " steps finished"
	}
	sentences := append([]string{"Nothing " + hasChanged(p) + " in this run: " + missing + "."}, used(s, o)...)
	did := lookedAt(p)
	if len(did) == 0 {
		sentences = append(sentences, "It made no tool call that did anything.")
		if p.StepsTotal > 0 {
			return append(sentences, stopIt)
		}
		return append(sentences, "Unless it was only asked for an answer, this is a run worth stopping.")
	}
	sentences = append(sentences, "What it did instead: "+list(did)+".")
	if p.Repeats > 0 {
		sentences = append(sentences, repeated(p))
	}
	// Who looks, waits, or uses tools that say nothing of themselves may be doing
	// its work. Who fails, or does the same again and again, is not.
	if p.inCircles() || p.FailedCommands+p.FailedEdits+p.FailedOthers >= p.Reads+p.Fetches+p.Polls+p.Others {
		return append(sentences, stopIt)
	}
	return append(sentences, "Unless that is all it was asked to do, this is a run worth stopping.")
}

const stopIt = "This is a run worth stopping."

// wentInCircles tells of a run that changed something, and mostly did the same
// again.
func wentInCircles(s RunSpend, p RunProgress, o NoticeOptions) []string {
	sentences := append([]string{"This run is going in circles.", repeated(p)}, used(s, o)...)
	return append(sentences, "In all it has to show: "+list(achieved(p))+".", stopIt)
}

// stoppedChanging tells of a run that did something, long ago.
func stoppedChanging(s RunSpend, p RunProgress, o NoticeOptions) []string {
	sentences := append([]string{"Nothing has changed in this run for the last " + strings.TrimPrefix(tokens(o.Unchanged), "about ") + "."}, used(s, o)...)
	sentences = append(sentences, "Before that: "+list(achieved(p))+".")
	if p.Repeats > 0 {
		sentences = append(sentences, repeated(p))
	}
	return append(sentences, "Unless it is by now only meant to look, this is a run worth stopping.")
}

func repeated(p RunProgress) string {
	of, was := "Of its "+count(p.calls(), "call", "calls"), "were"
	if p.Repeats == 1 {
		was = "was"
	}
	return of + ", " + grouped(int64(p.Repeats)) + " " + was + " the same as one shortly before, with the same result."
}

func used(s RunSpend, o NoticeOptions) []string {
	return append([]string{"It has used " + requests(s) + tokens(s.Tokens) + "."}, beside(s, o)...)
}

// beside is what was spent beside a run's own tokens, as far as it is to be said.
func beside(s RunSpend, o NoticeOptions) []string {
	var sentences []string
	if s.DelegatedTokens > 0 {
		sentences = append(sentences, "Its sub-agents used another "+tokens(s.DelegatedTokens)+".")
	}
	if o.Priced && !o.Local && s.Cost != nil && *s.Cost > 0 {
		cost := money(*s.Cost)
		if s.Unpriced {
			cost = atLeast(*s.Cost)
		}
		sentences = append(sentences, "The cost so far is "+cost+".")
	}
	return sentences
}

// requests begins the sentence that tokens ends.
func requests(s RunSpend) string {
	if s.Requests <= 0 {
		return ""
	}
	n := count(s.Requests, "request", "requests")
	if s.Model != "" {
		n += " to " + s.Model
	}
	return n + " and "
}

// roundedQuotient is a/b to the nearest whole; 0 when there is none.
func roundedQuotient(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	q := a / b
	if rest := a % b; rest >= b-rest {
		q++
	}
	return q
}
