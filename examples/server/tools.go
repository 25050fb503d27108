package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/loop"
	"github.com/pawl-dev/pawl/trajectory"
)

// ledgerFile has a line for every payment that was made, whatever a session says of it.
const ledgerFile = "ledger.txt"

// shop is what the tools act on.
type shop struct {
	ledger string
	each   time.Duration // that packing one piece takes
	hang   string        // the tool that does not come back today
}

type none struct{}

type question struct {
	Question string `json:"question"`
}

type payment struct {
	Dollars int `json:"dollars"`
}

// tools are those of one session, which they act for.
func (s shop) tools(session string) []loop.Tool {
	return []loop.Tool{
		// Asking again loses nothing, nor does packing or looking. Paying does: a payment
		// that was running when the process died is never repeated by the loop.
		loop.NewTool(loop.Tool{Name: "ask_customer", ReplaySafe: true, Description: "Ask the customer one question."},
			func(_ context.Context, in question) (string, error) { return "", loop.WaitForReply(in.Question) }),
		loop.NewTool(loop.Tool{Name: "pack", Kind: trajectory.KindExecute, ReplaySafe: true, Description: "Pack the order. It takes a while."}, s.pack),
		loop.NewTool(loop.Tool{Name: "pay", Kind: trajectory.KindExecute, Description: "Charge the customer, who approves it first.",
			Approval: func(c loop.Call) string { return "Pay " + c.Arguments + "?" }},
			func(ctx context.Context, in payment) (string, error) { return s.pay(ctx, session, in) }),
		loop.NewTool(loop.Tool{Name: "list_payments", Kind: trajectory.KindRead, ReplaySafe: true, Description: "List the payments that were made for this order."},
			func(context.Context, none) (string, error) { return s.payments(session) }),
	}
}

const pieces = 10

// pack is slow, and does not keep a shutdown waiting: it pauses its own call until the
// server is back, with what it has done so far. A client that stops the run stops it.
func (s shop) pack(ctx context.Context, _ none) (string, error) {
	packed := 0
	if call, ok := loop.CallFrom(ctx); ok && call.Resume != nil {
		if err := json.Unmarshal(call.Resume.Saved, &packed); err != nil {
			return "", err
		}
	}
	for ; packed < pieces; packed++ {
		if err := s.wait(ctx, "pack", s.each); errors.Is(err, loop.ErrShutdown) {
			return "", loop.ResumeLater(time.Now(), "the server restarts").Saving(packed)
		} else if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("All %d pieces are packed.", packed), nil
}

func (s shop) pay(ctx context.Context, session string, in payment) (string, error) {
	f, err := os.OpenFile(s.ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "%s %d\n", session, in.Dollars)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return "It is paid.", s.wait(ctx, "pay", 0)
}

func (s shop) payments(session string) (string, error) {
	text, err := os.ReadFile(s.ledger)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	paid := ""
	for line := range strings.Lines(string(text)) {
		if dollars, ok := strings.CutPrefix(line, session+" "); ok {
			paid += "paid " + dollars
		}
	}
	if paid == "" {
		return "nothing is paid", nil
	}
	return strings.TrimSpace(paid), nil
}

// wait is where a tool waits for the world, and for nothing else once it is told to
// stop.
func (s shop) wait(ctx context.Context, tool string, d time.Duration) error {
	later := time.After(d)
	if s.hang == tool {
		later = nil
	}
	select {
	case <-later:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
