// Server is a long-lived host of many sessions: an HTTP server in which each session
// has a file of its own and at most one run at a time, and which loses nothing to a
// restart, a crash or a slow customer.
//
//	go run ./examples/server
//
// needs no key and no network. It starts itself as a server, plays thirty customers at
// once (story.go), restarts the server once and kills it once in the middle of their
// payments, and exits with 0 only if every order was finished and none paid twice.
//
//	go run ./examples/server -addr 127.0.0.1:8080 -dir ./sessions
//
// is the server by itself, with the model that OPENAI_API_KEY, OPENAI_BASE_URL and
// PAWL_MODEL name. Without them a small set of rules plays it, which is no language
// model (standin.go). Order something, see what the session waits for, and answer:
//
//	curl localhost:8080/sessions/mine/messages -d '{"text":"A chair, please."}'
//	curl localhost:8080/sessions/mine
//	curl localhost:8080/sessions/mine/replies -d '{"call":"call_1","kind":"answer","text":"Blue."}'
//
// The next thing it waits for is an approval: {"call":"call_3","kind":"approve"}. DELETE
// /sessions/mine/run stops a run, GET /sessions lists all. The parts to copy are
// session.go, run.go and mailbox.go. There is no login here: whoever reaches the port
// may approve payments.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		time.Sleep(time.Second) // whoever runs this may pass the first one on twice
		stop()                  // a second Ctrl-C ends the process at once
	})
	os.Exit(run(ctx, os.Args[1:], os.Stdout))
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, out io.Writer) int {
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	f.SetOutput(out)
	addr, dir := f.String("addr", "", ""), f.String("dir", "", "")
	hang := f.String("hang", "", "") // a tool that does not come back; for the servers that the demo starts
	f.Usage = func() {
		fmt.Fprintln(out, "usage: server [-addr 127.0.0.1:8080] [-dir sessions]\nWithout either it is a demo of itself, in a temporary directory.")
	}
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case *addr == "" && *dir == "":
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // it takes seconds, unless it hangs
		defer cancel()
		err = demo(ctx, out)
	default:
		err = serve(ctx, cmp.Or(*addr, "127.0.0.1:8080"), cmp.Or(*dir, "sessions"), *hang, out)
	}
	if err != nil {
		fmt.Fprintln(out, "server:", err)
		return 1
	}
	return 0
}

const listening = "listening on http://"

// serve is the life of a server, until ctx is done.
func serve(ctx context.Context, addr, dir, hang string, out io.Writer) error {
	model, name := newModel(os.Getenv)
	s := shop{each: time.Second, hang: hang}
	if hang != "" { // a server of the demo is quick, and ends with whoever started it
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); end() }()
		s.each = 10 * time.Millisecond
	}
	h, err := openHost(dir, model, s)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return errors.Join(err, h.close())
	}
	fmt.Fprintf(out, "%s%s\nthe model is %s\n", listening, l.Addr(), name)
	server := &http.Server{Handler: h.handler(), ReadHeaderTimeout: 10 * time.Second}
	// A request that waits for its run is answered when that ends, so the runs are told
	// to stop as soon as no new request can come, and not after the last was answered.
	server.RegisterOnShutdown(h.stop)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	h.goOn()
	select {
	case err = <-failed:
	case <-ctx.Done():
		bounded, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err = server.Shutdown(bounded)
	}
	return errors.Join(err, h.close())
}
