package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-dev/pawl/stats"
	"github.com/pawl-dev/pawl/turn"
)

func TestTeam(t *testing.T) {
	var out bytes.Buffer
	res, err := run(t.Context(), "matt", &out)
	require.NoError(t, err)
	require.Equal(t, turn.Done, res.StopReason)
	require.Equal(t, "Two coats on 64 m² take 13 litres, at ten square metres a litre: $117.", res.Text())
	require.Contains(t, out.String(), "? buyer asks: Matt or silk?\n! matt\n")

	require.EqualValues(t, 2, res.Stats.Turns)
	require.EqualValues(t, 2, res.Stats.ToolCalls)
	require.EqualValues(t, 4, res.Children.Turns, "two of each, the question's answer costs none")
	require.EqualValues(t, 4, res.Children.ToolCalls)
	require.Equal(t, stats.AccumulateRun(res.Stats, res.Children), res.Total())
	require.Zero(t, res.Total().Unpriced)

	// What the agents had done before the question was not done again.
	for _, line := range []string{"    catalogue {}\n", "    size {\"room\":\"hall\"}\n", "surveyor {"} {
		require.Equal(t, 1, strings.Count(out.String(), line), line)
	}
}

func TestTeamWithAnotherAnswer(t *testing.T) {
	res, err := run(t.Context(), "silk", new(bytes.Buffer))
	require.NoError(t, err)
	require.Contains(t, res.Text(), "$156")
	res, err = run(t.Context(), "gloss (.*)", new(bytes.Buffer))
	require.NoError(t, err)
	require.Contains(t, res.Text(), "I cannot say")
}
