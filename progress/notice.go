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
}

// LongRunNotice is what to say of a run that has spent much. There are two
// messages, and which one it is is the point. A run that is getting somewhere
// hears what it did and what that took, with the arithmetic of it, and no
// suggestion that anything is wrong, because nothing is. A run that has changed
// nothing, or does only what it did before, hears exactly that: it is the one
// worth stopping.
//
// Neither recommends a turn limit, which would stop a run at a number that has
// nothing to do with its work.
func LongRunNotice(s RunSpend, p RunProgress, o NoticeOptions) string {
	var sentences []string
	switch {
	case !IsGettingSomewhere(p):
		sentences = changedNothing(s, p)
	case p.inCircles():
		sentences = wentInCircles(s, p)
	case o.Unchanged > 0 && o.Unchanged >= s.all()-o.Unchanged:
		sentences = stoppedChanging(s, p, o.Unchanged)
	default:
		sentences = working(s, p)
	}
	if s.DelegatedTokens > 0 {
		sentences = append(sentences, "Sub-agents used "+tokens(s.DelegatedTokens)+" more.")
	}
	if o.Priced && !o.Local && s.Cost != nil && *s.Cost > 0 {
		cost := money(*s.Cost)
		if s.Unpriced {
			cost = "at least " + cost
		}
		sentences = append(sentences, "The cost so far is "+cost+".")
	}
	return strings.Join(sentences, " ")
}

// working tells of a run that does its work.
func working(s RunSpend, p RunProgress) []string {
	sentences := []string{
		"Done so far: " + list(achieved(p)) + ".",
		"It took " + requests(s) + tokens(s.Tokens) + ".",
	}
	if average := roundedQuotient(s.Tokens, s.Requests); s.Requests > 1 && average > 0 {
		words, _ := said(average)
		sentences = append(sentences, "That is about "+words+" tokens a request, because each request reads the whole conversation again.")
	}
	var shares []string
	if part := share(s.CompletionTokens, plus(s.PromptTokens, s.CompletionTokens)); part != "" && s.PromptTokens > 0 {
		shares = append(shares, part+" of the tokens were newly written")
	}
	if part := share(s.CachedTokens, s.PromptTokens); part != "" {
		shares = append(shares, part+" of what was read came from the cache")
	}
	if len(shares) > 0 {
		sentences = append(sentences, sentence(list(shares)))
	}
	return sentences
}

// changedNothing tells of a run that has nothing to show.
func changedNothing(s RunSpend, p RunProgress) []string {
	sentences := []string{
		"Nothing has changed in this run: no file edited, no command that succeeded, no step finished.",
		"It has used " + requests(s) + tokens(s.Tokens) + ".",
	}
	if did := lookedAt(p); len(did) > 0 {
		sentences = append(sentences, "What it did instead: "+list(did)+".")
	} else {
		sentences = append(sentences, "It made no tool call that did anything.")
	}
	if p.Repeats > 0 {
		sentences = append(sentences, repeated(p))
	}
	return append(sentences, verdict(p))
}

// wentInCircles tells of a run that changed something, and mostly did the same
// again.
func wentInCircles(s RunSpend, p RunProgress) []string {
	return []string{
		"This run is going in circles.",
		repeated(p),
		"It has used " + requests(s) + tokens(s.Tokens) + ".",
		"In all it has to show: " + list(achieved(p)) + ".",
		"This is a run worth stopping.",
	}
}

// stoppedChanging tells of a run that did something, long ago.
func stoppedChanging(s RunSpend, p RunProgress, unchanged int64) []string {
	sentences := []string{
		"Nothing has changed in this run for the last " + strings.TrimPrefix(tokens(unchanged), "about ") + ".",
		"It has used " + requests(s) + tokens(s.Tokens) + ".",
		"Before that: " + list(achieved(p)) + ".",
	}
	if p.Repeats > 0 {
		sentences = append(sentences, repeated(p))
	}
	return append(sentences, verdict(p))
}

func repeated(p RunProgress) string {
	n, of := count(p.Repeats, "call was", "calls were"), grouped(int64(p.calls()))
	return n + " (of " + of + ") the same as one shortly before, with the same result."
}

// verdict names the one thing that would excuse a run without changes, unless it
// does the same again and again, which nothing excuses.
func verdict(p RunProgress) string {
	if p.inCircles() || p.Reads+p.Fetches+p.Others+p.Polls == 0 {
		return "This is a run worth stopping."
	}
	if p.Others > 0 {
		return "Unless those calls are its work, or it was only asked to look, this is a run worth stopping."
	}
	return "Unless it was only asked to look, this is a run worth stopping."
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
