package progress

import (
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/pawl-dev/pawl/trajectory"
)

// nature is what the summary and the watch need to know of a call's tool.
type nature struct {
	kind      trajectory.Kind
	polls     bool
	identity  string
	guessed   bool // kind and polls are those of the name
	saysPolls bool // but this the tool declares
}

// natureOf is what a call declares, completed from its tool's name where it
// declares nothing.
func natureOf(b *trajectory.CallStart) nature {
	if b.Kind != "" {
		return nature{kind: b.Kind, polls: b.Polls, identity: b.Identity}
	}
	n := natureByName(b.Name, b.Arguments)
	n.polls, n.saysPolls, n.identity = n.polls || b.Polls, b.Polls, b.Identity
	return n
}

// ended is the nature of a call of which it is now known whether it started child
// runs. It then is delegated work, and its name that of a sub-agent.
func (n nature) ended(b *trajectory.CallEnd) nature {
	if b.Agents > 0 && n.guessed {
		n.kind, n.polls = "", n.saysPolls
	}
	return n
}

// natureByName goes by the names that tools commonly have: kind "" for all others.
func natureByName(name, arguments string) nature {
	name = plainName(name)
	switch name {
	case "str_replace_editor", "str_replace_based_edit_tool", "text_editor", "file_editor":
		// One name for viewing and editing.
		if gjson.Get(arguments, "command").Str == "view" {
			return nature{kind: trajectory.KindRead, guessed: true}
		}
	}
	return wellKnown[name]
}

// wellKnown is the kind of a tool by its plain name.
var wellKnown = byName([]named{
	{trajectory.KindRead, false, `read read_file read_files read_many_files read_multiple_files read_text_file read_media_file file_read
		view view_file view_image open_file cat head tail ls list list_dir list_directory list_files directory_tree tree
		get_file get_file_contents get_file_info read_notebook notebook_read read_image stat git_diff git_log git_show git_status`},
	{trajectory.KindSearch, false, `grep rg ripgrep glob search search_file search_files search_code search_file_content file_search find find_file
		find_files find_symbol find_references code_search codebase_search grep_search semantic_search symbol_search glob_file_search`},
	{trajectory.KindEdit, false, `edit edit_file edit_files file_edit multi_edit write write_file write_files file_write write_to_file
		create create_file create_directory mkdir make_directory str_replace string_replace str_replace_editor str_replace_based_edit_tool
		text_editor file_editor apply_patch apply_diff patch patch_file replace replace_in_file search_replace search_and_replace
		insert insert_lines append append_file append_to_file update_file save_file modify_file copy copy_file notebook_edit edit_notebook`},
	{trajectory.KindDelete, false, `delete delete_file delete_files delete_directory remove remove_file rm unlink`},
	{trajectory.KindMove, false, `move move_file mv rename rename_file`},
	{trajectory.KindExecute, false, `bash shell sh zsh run exec execute cmd command terminal powershell pwsh run_command execute_command exec_command
		command_exec shell_command shell_exec run_shell run_bash execute_bash execute_shell run_shell_command run_terminal_cmd run_terminal_command
		run_in_terminal local_shell unified_exec container_exec python ipython python_repl run_python execute_python run_code execute_code
		code_interpreter code_execution run_script run_test run_tests test build make git_commit`},
	{trajectory.KindOther, true, `bash_output shell_output read_output get_output task_output get_task_output read_process_output get_process_output
		terminal_output get_terminal_output command_output get_command_output command_status get_command_status process process_status
		check_process write_stdin job_status task_status get_task_status check_status get_status poll poll_process wait wait_for wait_agent sleep`},
	{trajectory.KindThink, false, `think update_plan plan todo todo_write todo_read write_todos read_todos update_todos
		exit_plan_mode ask ask_user ask_question ask_followup_question attempt_completion`},
	{trajectory.KindFetch, false, `fetch fetch_url url_fetch web_fetch get_url open_url read_url http_get web_search search_web google_search browse
		read_web_page visit_page`},
})

type named struct {
	kind  trajectory.Kind
	polls bool
	names string
}

func byName(table []named) map[string]nature {
	m := map[string]nature{}
	for _, t := range table {
		for _, name := range strings.Fields(t.names) {
			m[name] = nature{kind: t.kind, polls: t.polls, guessed: true}
		}
	}
	return m
}

// plainName is a tool's name in snake case, without the server or namespace before
// it: "mcp__files__readFile" and "functions.ReadFile" are both "read_file".
func plainName(name string) string {
	if i := strings.LastIndexAny(name, "./:"); i >= 0 {
		name = name[i+1:]
	}
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		if r == '-' || unicode.IsSpace(r) {
			r = '_'
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func changes(k trajectory.Kind) bool {
	return k == trajectory.KindEdit || k == trajectory.KindDelete || k == trajectory.KindMove
}

// mayChange is every kind but those that only look: a shell that writes a file
// does not say so.
func mayChange(n nature) bool {
	switch n.kind {
	case trajectory.KindRead, trajectory.KindSearch, trajectory.KindFetch, trajectory.KindThink:
		return false
	}
	return !n.polls
}

// sleeps reports whether a command waits before it looks, which is how a shell
// polls.
func sleeps(arguments string) bool {
	return strings.Contains(arguments, "sleep ") || strings.Contains(arguments, "Start-Sleep")
}
