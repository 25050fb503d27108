package resume

// pauses are the endings of sessions in which a call waits or waited.
var pauses = []scriptCase{
	{"waiting for a person", `
		user   Book a table.
		plan   >book
		calls  a=other:ask {}
		start  a
		ask    a For how many?
		stop   waiting_for_reply`,
		WaitingForReply, "It asked “For how many?” and waits for the answer.", "Answer “For how many?”.", "Asked “For how many?”.", ""},
	{"waiting for a person, the end not recorded", `
		user   Book a table.
		calls  a=other:ask {}
		start  a
		ask    a For how many?`,
		WaitingForReply, "It asked “For how many?” and waits for the answer.", "Answer “For how many?”.", "Asked “For how many?”.", ""},
	{"waiting for an approval", `
		user   Clean up.
		calls  a=execute:run {"command":"rm -rf build"}
		approve a Run rm -rf build?
		stop   waiting_for_reply`,
		WaitingForReply, "It waits for approval: “Run rm -rf build?”.", "Approve or deny “Run rm -rf build?”.", "Asked for approval: “Run rm -rf build?”.", ""},
	{"waiting for an answer and an approval", `
		user   Clean up.
		calls  a=other:ask {} ; b=execute:run {"command":"rm"} ; c=other:sleep {}
		start  a
		start  c
		ask    a Which?
		approve b Run rm?
		sleep  c the build
		stop   waiting_for_reply`,
		WaitingForReply, "It asked “Which?” and waits for the answer. It waits for approval: “Run rm?”.", "Answer “Which?”. Approve or deny “Run rm?”.", "Paused: “the build”.", ""},
	{"resuming later", `
		user   Watch the build.
		calls  a=other:sleep {}
		start  a
		sleep  a the build takes an hour
		stop   resuming_later`,
		ResumingLater, "It paused until 2026-03-05 07:30 UTC: “the build takes an hour”.", "Start it again after 2026-03-05 07:30 UTC; nothing has to be said.", "Paused: “the build takes an hour”.", ""},
	{"resuming at the first of several times", `
		user   Watch the build.
		calls  a=other:sleep {} ; b=other:sleep {}
		start  a
		start  b
		sleep  a the build takes an hour
		due    b nothing to wait for
		stop   resuming_later`,
		ResumingLater, "It paused: “nothing to wait for”.", "Start it again; nothing has to be said.", "Paused: “nothing to wait for”.", ""},
	{"answered", `
		user   Book a table.
		calls  a=other:ask {}
		start  a
		ask    a For how many?
		stop   waiting_for_reply
		again
		end    a ok eight
		model  Booked.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Asked “For how many?”, which was answered.", "Booked."},
	{"answered by the host itself", `
		user   Book a table.
		calls  a=other:ask {}
		start  a
		ask    a For how many?
		stop   waiting_for_reply
		by     a eight
		model  Booked.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Asked “For how many?”, which was answered.", "Booked."},
	{"not answered", `
		user   Book a table.
		calls  a=other:ask {}
		start  a
		ask    a For how many?
		again
		end    a denied no
		model  I could not.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Asked “For how many?”, which was not answered.", "I could not."},
	{"denied", `
		user   Clean up.
		calls  a=execute:run {"command":"rm old.txt"}
		approve a Run rm old.txt?
		stop   waiting_for_reply
		again
		end    a denied no
		model  It is still there.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Asked for approval: “Run rm old.txt?”, which was denied.", "It is still there."},
	{"approved and run", `
		user   Clean up.
		calls  a=execute:run {"command":"rm old.txt"}
		approve a Run rm old.txt?
		stop   waiting_for_reply
		again
		start  a
		end    a ok gone
		model  It is gone.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Ran `rm old.txt`.", "It is gone."},
	{"asked for approval, and the tool is gone", `
		user   Clean up.
		calls  a=execute:run {"command":"rm old.txt"}
		approve a Run rm old.txt?
		again
		end    a unknown_tool there is no such tool
		model  I cannot.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Asked for approval: “Run rm old.txt?”, and could not go on.", "I cannot."},
	{"a pause that was called off", `
		user   Watch the build.
		calls  a=other:sleep {}
		start  a
		sleep  a the build takes an hour
		again
		end    a denied no
		model  As you like.
		stop   done`,
		Finished, "The run ended with a reply, and nothing is left open.", "", "Paused: “the build takes an hour”, and was called off.", "As you like."},
	{"killed in the batch of a call that waits", `
		user   Book a table.
		calls  a=other:ask {} ; b=execute:run {"command":"make"}
		start  a
		start  b
		ask    a For how many?`,
		WaitingForReply, "It asked “For how many?” and waits for the answer. `run` was running when the session stopped, and what it did is unknown.", "Answer “For how many?”.", "Asked “For how many?”.", ""},
	{"killed in the batch of a call that waits for approval", `
		user   Clean up.
		calls  a=execute:run {"command":"rm"} ; b=read:look {"path":"x"} ; c=other:mail {}
		approve a Run rm?
		start  b`,
		WaitingForReply, "It waits for approval: “Run rm?”. The model called `look`, which had no result yet. A call of `mail` had not begun.", "Approve or deny “Run rm?”. The rest goes on without that when it is started again.", "Was reading `x` when it stopped.", ""},
	{"killed in the batch of a call that waits for a time", `
		user   Watch the build.
		calls  a=other:sleep {} ; b=execute:run {"command":"make"}
		start  a
		start  b
		sleep  a the build takes an hour`,
		ResumingLater, "It paused until 2026-03-05 07:30 UTC: “the build takes an hour”. `run` was running when the session stopped, and what it did is unknown.", "Start it again after 2026-03-05 07:30 UTC; nothing has to be said.", "Paused: “the build takes an hour”.", ""},
}
