//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package main

import (
	"context"
	"os"
	"os/exec"
)

func shell(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/C", command)
}

// isolate, endGroup and lock do nothing here: a cancel ends the command, and what
// it started lives on by itself; a session is one program's if its user sees to it.
func isolate(*exec.Cmd)   {}
func endGroup(*exec.Cmd)  {}
func lock(*os.File) error { return nil }
