package progress

import "strings"

// withoutTimes is a text without what differs each time it is said: clock times,
// dates, durations and addresses in memory. Other numbers stay, since they are
// what a changing result shows itself by. It is written out because a regular
// expression takes more time for this than all else together.
func withoutTimes(s string) string {
	var b strings.Builder
	copied := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < '0' || c > '9' {
			i++
			continue
		}
		end := 0
		if i == 0 || !wordByte(s[i-1]) {
			end = timeAt(s, i)
		}
		if end == 0 {
			i = digits(s, i)
			continue
		}
		b.WriteString(s[copied:i])
		b.WriteString("…")
		i, copied = end, end
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// timeAt is where the time that begins at i ends, 0 when there is none.
func timeAt(s string, i int) int {
	if end := dateAt(s, i); end > 0 {
		if end < len(s) && (s[end] == 'T' || s[end] == ' ') {
			if clock := clockAt(s, end+1); clock > 0 {
				return clock
			}
		}
		return end
	}
	for _, at := range [...]func(string, int) int{clockAt, durationAt, addressAt} {
		if end := at(s, i); end > 0 {
			return end
		}
	}
	return 0
}

func dateAt(s string, i int) int {
	if digits(s, i) == i+4 && has(s, i+4, '-') && digits(s, i+5) == i+7 && has(s, i+7, '-') && digits(s, i+8) == i+10 {
		return i + 10
	}
	return 0
}

func clockAt(s string, i int) int {
	hour := digits(s, i)
	if hour == i || hour > i+2 || !has(s, hour, ':') || digits(s, hour+1) != hour+3 || !has(s, hour+3, ':') || digits(s, hour+4) != hour+6 {
		return 0
	}
	end := hour + 6
	if has(s, end, '.') || has(s, end, ',') {
		if fraction := digits(s, end+1); fraction > end+1 {
			return fraction
		}
	}
	return end
}

// units are the names of durations; of two with one beginning the longer is first.
var units = [...]string{"ns", "us", "µs", "ms", "s", "m", "h",
	" milliseconds", " millisecond", " seconds", " second", " secs", " sec", " minutes", " minute", " mins", " min", " ms", " s"}

func durationAt(s string, i int) int {
	for {
		end := digits(s, i)
		if end == i {
			return 0
		}
		if has(s, end, '.') && digits(s, end+1) > end+1 {
			end = digits(s, end+1)
		}
		next := 0
		for _, unit := range units {
			if strings.HasPrefix(s[end:], unit) {
				if at := end + len(unit); at == len(s) || !wordByte(s[at]) {
					return at
				} else if digit(s, at) {
					next = at // 1m30s
				}
			}
		}
		if next == 0 {
			return 0
		}
		i = next
	}
}

func addressAt(s string, i int) int {
	if !strings.HasPrefix(s[i:], "0x") {
		return 0
	}
	end := i + 2
	for end < len(s) && (digit(s, end) || s[end]|0x20 >= 'a' && s[end]|0x20 <= 'f') {
		end++
	}
	if end < i+6 {
		return 0
	}
	return end
}

// digits is where the digits that begin at i end.
func digits(s string, i int) int {
	for digit(s, i) {
		i++
	}
	return i
}

func digit(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }

func has(s string, i int, c byte) bool { return i < len(s) && s[i] == c }

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
