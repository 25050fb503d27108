package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/plan"
	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/trajectory"
	"github.com/pawl-dev/pawl/turn"
)

// SummaryOptions say when and how [Summarise] compacts. Turn and Window are
// required.
type SummaryOptions struct {
	// Turn is the model that writes the summary; it may be a cheaper one.
	Turn turn.TurnFn
	// Window is the context window, in tokens, of the model that does the work.
	Window int64
	// At is the share of the window from which the transcript is summarised; zero
	// is 0.8.
	At float64
	// Keep is the share of the window that the latest messages may fill and be
	// kept as they are; zero is 0.25.
	Keep float64
	// Prompt asks for the summary; "" is a prompt that asks for what the work needs.
	Prompt string
	// Timeout bounds the model call; zero is a minute, negative no bound.
	Timeout time.Duration
}

const summaryPrompt = "Below is the earlier part of a conversation between a user and an assistant that works with tools. " +
	"It is about to be removed, and your summary will stand in its place, so write what the assistant needs to go on: " +
	"what the user wants, in their words where it matters; what was done, with exact names, paths and commands; what was found out, " +
	"also what did not work; what was decided and why; and what is still to do. Be brief and exact. Write nothing else."

// summaryMark begins the message that stands for what was summarised.
const summaryMark = "[Summary of the conversation so far]"

// Summarise is a [CompactFn] that has a model summarise the earlier part of the
// transcript. It keeps the system prompt and the latest messages as they are,
// cuts only between a batch and the next message, quotes the user's own messages,
// and restates the plan while steps are open. Compacting again without new
// messages changes nothing. Where nothing is left to summarise and the transcript
// still does not fit, it shortens old tool outputs instead.
func Summarise(o SummaryOptions) CompactFn {
	if o.At == 0 {
		o.At = 0.8
	}
	if o.Keep == 0 {
		o.Keep = 0.25
	}
	if o.Prompt == "" {
		o.Prompt = summaryPrompt
	}
	return func(ctx context.Context, in Compacting) (Compaction, error) {
		if o.Turn == nil || o.Window <= 0 {
			return Compaction{}, errors.New("summarise: Turn and Window are required")
		}
		if !in.Overflow && float64(tokensOf(in)) < o.At*float64(o.Window) {
			return Compaction{}, nil
		}
		keep := int64(o.Keep*float64(o.Window)) >> in.Try
		from, to := region(in.Messages, keep)
		if to-from == 0 || to-from == 1 && isSummary(in.Messages[from]) {
			if in.Overflow {
				return prune(in.Messages, 0, 2000>>in.Try), nil
			}
			return Compaction{}, nil
		}
		summary, spend, err := o.summary(ctx, in.Messages[from:to])
		if err != nil {
			return Compaction{Spend: spend}, err
		}
		head := append(in.Messages[:from:from], turn.User(summaryText(in.Messages[from:to], summary, in.State.Plan)))
		return Compaction{Head: head, Drop: to, Spend: spend}, nil
	}
}

// tokensOf is how full the window is: what the last turn reported, and an
// estimate of what came since. Four bytes a token is the rule of thumb.
func tokensOf(in Compacting) int64 {
	used := in.State.LastUsage.InputTokens + in.State.LastUsage.OutputTokens
	if used <= 0 {
		return int64(bytesOf(in.Messages)) / 4
	}
	last := len(in.Messages)
	for last > 0 && in.Messages[last-1].OfAssistant == nil {
		last--
	}
	return used + int64(bytesOf(in.Messages[last:]))/4
}

// region is what may be summarised: behind the system prompt, and before the
// latest messages, at a place where no call is parted from its result.
func region(messages turn.Transcript, keep int64) (from, to int) {
	for from < len(messages) && (messages[from].OfSystem != nil || messages[from].OfDeveloper != nil) {
		from++
	}
	to = len(messages)
	for to > from && messages[to-1].OfTool != nil { // the latest batch is always kept
		to--
	}
	to = max(to-1, from)
	kept := int64(bytesOf(messages[to:]))
	for i := to; i > from; i-- {
		kept += int64(bytesOf(messages[i-1 : i]))
		if kept/4 > keep {
			break
		}
		if messages[i-1].OfTool == nil {
			to = i - 1
		}
	}
	return from, to
}

func isSummary(m turn.TranscriptMessage) bool {
	return m.OfUser != nil && strings.HasPrefix(turn.Text(m), summaryMark)
}

// summary asks the model. The messages go as one text, since many servers refuse
// calls and results in a request without tools.
func (o SummaryOptions) summary(ctx context.Context, messages turn.Transcript) (string, stats.AuxiliarySpend, error) {
	if t := limit(o.Timeout, time.Minute, 0); t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t)
		defer cancel()
	}
	reply, err := o.Turn(ctx, turn.Transcript{turn.System(o.Prompt), turn.User(rendered(messages))}, nil)
	spend := stats.AuxiliarySpend{Usage: reply.Usage, ModelTime: reply.Timings.Generation}
	text := strings.TrimSpace(turn.Text(turn.ReplayForm(reply.Message)))
	switch {
	case err != nil:
		return "", spend, fmt.Errorf("summarising: %w", err)
	case reply.Finish == trajectory.FinishLength:
		return "", spend, errors.New("summarising: the summary was cut off at the output limit")
	case text == "":
		return "", spend, errors.New("summarising: the summary is empty")
	}
	return text, spend, nil
}

// rendered is the messages as a text to read. Long outputs are clipped: the
// summary has no room for them, and its model may have a smaller window.
func rendered(messages turn.Transcript) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s: %s\n", turn.Role(m), clip(turn.Text(m), 4000))
		for _, c := range turn.Calls(m) {
			fmt.Fprintf(&b, "  call %s %s %s\n", c.ID, c.Name, clip(c.Arguments, 2000))
		}
	}
	return b.String()
}

// summaryText is the message that takes the place of what was summarised. It is a
// user's: a second system message is refused by some servers.
func summaryText(messages turn.Transcript, summary string, p *plan.Plan) string {
	var b strings.Builder
	b.WriteString(summaryMark + "\n\n")
	for _, m := range messages {
		if m.OfUser == nil {
			continue
		}
		if text, ok := quotedUsers(m); ok {
			b.WriteString(text)
		} else {
			fmt.Fprintf(&b, "The user wrote: %s\n", clip(turn.Text(m), 4000))
		}
	}
	b.WriteString("\n" + summary + "\n")
	if p != nil && len(p.Outstanding()) > 0 {
		b.WriteString("\nThe plan as it stands:\n")
		for _, s := range p.Steps {
			fmt.Fprintf(&b, "- [%s] %s\n", s.State, s.Text)
		}
	}
	return b.String()
}

// quotedUsers is what an earlier summary quoted of the user, so that it outlives
// a second one.
func quotedUsers(m turn.TranscriptMessage) (string, bool) {
	if !isSummary(m) {
		return "", false
	}
	quotes, _, _ := strings.Cut(strings.TrimPrefix(turn.Text(m), summaryMark+"\n\n"), "\n\n")
	return strings.TrimSuffix(quotes, "\n") + "\n", true
}
