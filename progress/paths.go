package progress

import (
	"net/url"
	"path"
	"strings"
)

// folder is the working directory that paths are relative to, in the form that
// place gives; "" when it is not known.
type folder struct {
	path    string
	windows bool
}

func newFolder(cwd string) folder {
	p, windows := slashed(cwd)
	if !rooted(p) {
		return folder{}
	}
	if windows {
		p = strings.ToLower(p)
	}
	return folder{path.Clean(p), windows}
}

// place is one spelling for all spellings of a path: relative to the folder
// where it is inside, slashes for separators, and lower case on Windows, whose
// file names have none. "" is no path.
func (f folder) place(p string) string {
	if p == "" {
		return ""
	}
	p, windows := slashed(p)
	if windows || f.windows {
		p = strings.ToLower(p)
	}
	if f.path == "" {
		return path.Clean(p)
	}
	switch {
	case !rooted(p):
		p = f.path + "/" + p
	case f.windows && p[0] == '/' && !strings.HasPrefix(p, "//"):
		p = f.path[:strings.IndexByte(f.path, ':')+1] + p // on the folder's drive
	}
	p = path.Clean(p)
	if p == f.path {
		return "."
	}
	if inside, ok := strings.CutPrefix(p, strings.TrimSuffix(f.path, "/")+"/"); ok {
		return inside
	}
	return p
}

// slashed writes a path with slashes, and says whether it can only be one of
// Windows. A file URI is the path that it names.
func slashed(p string) (_ string, windows bool) {
	if len(p) > 7 && strings.EqualFold(p[:7], "file://") {
		if u, err := url.Parse(p); err == nil && u.Path != "" {
			p = u.Path
			if len(p) > 2 && p[2] == ':' {
				p = p[1:] // file:///C:/a
			}
		}
	}
	p = strings.ReplaceAll(p, `\`, "/")
	if rest, ok := strings.CutPrefix(p, "//?/"); ok {
		p = rest
		if share, ok := strings.CutPrefix(p, "UNC/"); ok {
			p = "//" + share
		}
	}
	if strings.HasPrefix(p, "//") {
		return p, true
	}
	return p, drive(p)
}

func drive(p string) bool {
	return len(p) > 1 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// rooted reports whether a path stands for itself. One that names a drive and no
// root ("C:a") does too: which folder it means there, nobody recorded.
func rooted(p string) bool { return strings.HasPrefix(p, "/") || drive(p) }
