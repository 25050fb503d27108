package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary is the program when the program starts itself.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-hang") {
		main()
	}
	os.Exit(m.Run())
}

func TestTheDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three processes")
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	var out bytes.Buffer
	require.Zero(t, run(t.Context(), nil, &out), &out)
	require.NotContains(t, out.String(), "NO ")
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// What the demo finds wrong, were it so.
func TestAWrongLedgerAndAMessageThatIsLost(t *testing.T) {
	var out bytes.Buffer
	s := story{dir: t.TempDir(), out: &out}
	var ledger []byte
	for i := range customers {
		ledger = append(ledger, customer(i%29)+" 40\n"...) // the last one's is the first one's
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, ledgerFile), ledger, 0o600))
	s.paidOnce()
	require.Contains(t, out.String(), "[customer-0 2 times customer-2 1 times customer-29 0 times]")
	s.told[1] = []string{"Wrap it"}
	s.heard(make([]state, customers))
	require.Contains(t, out.String(), `[customer-1: "Wrap it" 0 times]`)
	require.True(t, s.failed)
}

// serveIn is a server over a directory, in this process.
func serveIn(t *testing.T, dir, hang string) (client, *host) {
	t.Helper()
	h, err := openHost(dir, standIn, shop{hang: hang})
	require.NoError(t, err)
	server := httptest.NewServer(h.handler())
	t.Cleanup(server.Close)
	t.Cleanup(h.stop) // before that: a request may wait for a run
	h.goOn()
	return client{server.URL}, h
}

// patient ends a test that hangs, and no other.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// died is the directory as a process would leave it that died now.
func died(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	return copied
}
