//go:build !unix

package main

import (
	"context"
	"os/exec"
)

func shell(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/C", command)
}

// isolate and endGroup do nothing here: a cancel ends the command, and what it
// started lives on by itself.
func isolate(*exec.Cmd)  {}
func endGroup(*exec.Cmd) {}
