package applog

import (
	"bytes"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"gapless/collectors/follow"
	"gapless/collectors/plainfile"
)

// What was read of a text stays read when another file turns out to hold it: one that was
// renamed, or a copy. Files that begin alike, are there at the same time and differ
// somewhere are logs of their own, and lines of theirs that are equal are different ones.

// mostTexts bounds how many texts are known that were read; beyond, those are forgotten
// that have been in no file for longest.
const mostTexts = 10_000

// textID is by what a text is known, up to where it was read.
type textID struct {
	head, tail string
	reach      int64
}

func (p *position) text() textID { return textID{p.Head, p.Tail, p.reach()} }

// knownText is a text that was read.
type knownText struct {
	position
	order int // in which it was there last
}

// remember keeps by what the text is known that was read of a file, instead of what was
// kept when less of it was read.
func (r *Reader) remember(f *file) {
	if f.position.HeadLen == 0 {
		return
	}
	delete(r.texts, f.text)
	f.text = f.position.text()
	r.order++
	r.texts[f.text] = knownText{f.position.clone(), r.order}
	if len(r.texts) <= mostTexts {
		return
	}
	orders := make([]int, 0, len(r.texts))
	for _, known := range r.texts {
		orders = append(orders, known.order)
	}
	slices.Sort(orders)
	oldest := orders[len(orders)-mostTexts*9/10] // seldom, and many at once
	maps.DeleteFunc(r.texts, func(_ textID, known knownText) bool { return known.order < oldest })
}

// replaced remembers the text of a file that is to hold another one.
func (r *Reader) replaced(f *file) {
	r.remember(f)
	f.text = textID{}
}

// beginning is where to begin with a file.
type beginning struct {
	at    position
	again bool // lines may have been read: it begins like a text that was, and does not hold all of that
	wait  bool // it is a copy, of which more may come
}

// begin says where to begin with a file that its path is not known to have led to: at its
// start, unless all or some of it was read in another file.
func (r *Reader) begin(path string, f *os.File, info os.FileInfo, quiet time.Duration) (b beginning, err error) {
	size := info.Size()
	if known, ok := r.retired[follow.Inode(info)]; ok {
		if same, err := known.fits(f, size); err != nil || same {
			return beginning{at: known}, err
		}
	}
	heads := map[int]string{} // of f, by length
	isAlike := func(p *position) (bool, error) {
		if heads[p.HeadLen] == "" {
			var err error
			if heads[p.HeadLen], err = headOf(f, p.HeadLen); err != nil {
				return false, err
			}
		}
		return size >= int64(p.HeadLen) && heads[p.HeadLen] == p.Head, nil
	}
	others := map[textID]bool{}
	for name, g := range r.files {
		if name == path || !g.known || g.position.HeadLen == 0 {
			continue
		}
		r.remember(g)
		if size >= int64(g.position.HeadLen) {
			if alike, err := isAlike(&g.position); err != nil {
				return beginning{}, err
			} else if !alike {
				continue
			}
		}
		isThere, isPart, err := g.position.compare(name, f, size)
		switch {
		case err != nil:
			return beginning{}, err
		case isThere && !isPart:
			others[g.position.text()] = true
		case isThere && size < g.position.reach():
			end, err := lastLine(f, size)
			return beginning{at: position{Offset: end}, wait: quiet <= calm}, err
		}
	}
	for text, known := range r.texts {
		if others[text] {
			continue
		}
		alike, err := isAlike(&known.position)
		if err != nil {
			return beginning{}, err
		}
		b.again = b.again || alike
		if !alike || known.reach() <= b.at.reach() {
			continue
		}
		if same, err := known.fits(f, size); err != nil {
			return beginning{}, err
		} else if same {
			b.at = known.position
		}
	}
	b.at, b.again = b.at.clone(), b.again && b.at.reach() == 0
	return b, nil
}

// compare says whether the file that p was taken in is there, and whether the shorter one
// of it and f is the beginning of the other.
func (p *position) compare(path string, f *os.File, size int64) (isThere, isPart bool, err error) {
	theirs, info, err := plainfile.Open(path)
	if err != nil {
		return false, false, nil //nolint:nilerr // whoever reads that file tells
	}
	defer theirs.Close()
	if isThere, err = p.fits(theirs, info.Size()); err != nil || !isThere {
		return false, false, nil //nolint:nilerr // the same
	}
	x, y := make([]byte, tailSize), make([]byte, tailSize)
	for at, end := int64(0), min(size, info.Size()); at < end; at += tailSize {
		n := min(end-at, tailSize)
		if _, err := f.ReadAt(x[:n], at); err != nil && err != io.EOF {
			return true, false, err
		}
		if _, err := theirs.ReadAt(y[:n], at); err != nil || !bytes.Equal(x[:n], y[:n]) {
			return true, false, nil //nolint:nilerr // it changed
		}
	}
	return true, true, nil
}

// lastLine is where the last whole line before a place ends.
func lastLine(f *os.File, size int64) (int64, error) {
	b := make([]byte, min(size, maxLine))
	if _, err := f.ReadAt(b, size-int64(len(b))); err != nil && err != io.EOF {
		return 0, err
	}
	end := bytes.LastIndexByte(b, '\n')
	if end < 0 {
		return 0, nil
	}
	return size - int64(len(b)) + int64(end) + 1, nil
}
