package evidence

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"

	"gapless/analysis"
)

// Bundle is what was read from a bundle.
type Bundle struct {
	Observations   analysis.Observations
	Versions       Versions
	Report         []byte // JSON
	Manifest       Manifest
	ManifestSHA256 string
}

// Problem is one thing that is not as it was written.
type Problem struct {
	Member string // a member's name; empty where it is the file as a whole
	What   string
}

// String implements fmt.Stringer.
func (p Problem) String() string {
	if p.Member == "" {
		return p.What
	}
	return p.Member + ": " + p.What
}

// Read reads a bundle and checks every byte of it. The bundle is of use only where
// there is no problem. Its memory grows with the observations, never with the text
// around them: members are read one record at a time, and what a file says of its
// own size is not believed.
func Read(file io.ReaderAt, size int64) (*Bundle, []Problem) {
	r := &reader{file: file, size: size, known: maxKnown, bundle: &Bundle{}}
	r.read()
	return r.bundle, r.problems
}

// CheckSeal reads the bundle's bytes once, checks that they are those that were
// written, and returns the manifest's SHA-256. It does not look into the members.
func CheckSeal(file io.ReaderAt, size int64) (manifestSHA256 string, err error) {
	r := &reader{file: file, size: size}
	manifest, intact, err := r.checkSeal()
	if err == nil && !intact {
		err = errors.New("the file is not whole, or was altered")
	}
	return manifest, err
}

type reader struct {
	file     io.ReaderAt
	size     int64
	zip      *zip.Reader
	bundle   *Bundle
	problems []Problem
	known    int
}

// maxProblems bounds what is told of one bundle.
const maxProblems = 100

func (r *reader) problem(member, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{member, fmt.Sprintf(format, args...)})
	}
}

func (r *reader) read() {
	manifestSum, intact, err := r.checkSeal()
	if err != nil {
		r.problem("", "%v", err)
		// Go on: members that can be read may say more.
	}
	r.zip, err = zip.NewReader(r.file, r.size)
	if err != nil {
		r.problem("", "the zip's directory cannot be read: %v", err)
		return
	}
	if !r.checkNames() {
		return
	}
	if !r.readManifest(manifestSum) {
		return
	}
	for i := range r.bundle.Manifest.Members {
		r.readMember(i)
	}
	if len(r.problems) == 0 && r.bundle.Manifest.Deploy != shownID(&r.bundle.Observations) {
		r.problem(manifestName, "it names another deploy than %s has", members[0].name)
	}
	r.checkLayout()
	if !intact && len(r.problems) == 0 {
		r.problem("", "the bytes are not those that the seal at the file's end was made of")
	}
}

// checkSeal reads the whole file once.
func (r *reader) checkSeal() (manifestSHA256 string, intact bool, err error) {
	if r.size < sealLen || r.size > maxFile {
		return "", false, fmt.Errorf("it is no evidence bundle: %d bytes", r.size)
	}
	text := make([]byte, sealLen)
	if _, err := r.file.ReadAt(text, r.size-sealLen); err != nil {
		return "", false, fmt.Errorf("read the seal: %w", err)
	}
	seal := sealForm.FindSubmatch(text)
	if seal == nil {
		return "", false, errors.New("it does not end with the seal of an evidence bundle")
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r.file, 0, r.size-digest)); err != nil {
		return "", false, fmt.Errorf("read the file: %w", err)
	}
	return string(seal[1]), hex.EncodeToString(sum.Sum(nil)) == string(seal[2]), nil
}

// checkNames compares the zip's list with the one list that a bundle can have, so
// that no name needs to be trusted. Nothing is ever written under one.
func (r *reader) checkNames() bool {
	var want []string
	for _, m := range members {
		want = append(want, m.name)
	}
	want = append(append(want, others...), manifestName)
	expected := map[string]bool{}
	for _, name := range want {
		expected[name] = true
	}
	seen := map[string]bool{}
	for _, f := range r.zip.File {
		switch {
		case !expected[f.Name]:
			r.problem("", "there is a member %q that a bundle does not have", analysis.Clip(f.Name, 100))
		case seen[f.Name]:
			r.problem(f.Name, "it is there twice")
		}
		seen[f.Name] = true
	}
	for _, name := range want {
		if !seen[name] {
			r.problem(name, "it is missing")
		}
	}
	if len(r.problems) > 0 && len(r.zip.File) != len(want) {
		return false
	}
	var total uint64
	for i, f := range r.zip.File {
		switch {
		case f.Name != want[i]:
			if expected[f.Name] {
				r.problem(f.Name, "it is not in its place")
			}
			return false
		case f.Method != header(f.Name).Method:
			r.problem(f.Name, "it is compressed by method %d, which a bundle does not use", f.Method)
			return false
		}
		total += min(f.UncompressedSize64, maxContent+1)
		if total > maxContent {
			r.problem(f.Name, "the members take more than %d MiB, which is more than is read", maxContent>>20)
			return false
		}
		if f.UncompressedSize64 > freeRatio && f.UncompressedSize64 > maxRatio*f.CompressedSize64 {
			r.problem(f.Name, "%d bytes are said to come out of %d: that is no evidence", f.UncompressedSize64, f.CompressedSize64)
			return false
		}
	}
	return true
}

func (r *reader) readManifest(sealed string) bool {
	f := r.zip.File[len(r.zip.File)-1]
	body, err := r.small(f, 1<<20)
	if err != nil {
		r.problem(manifestName, "%v", err)
		return false
	}
	sum := sha256.Sum256(body)
	r.bundle.ManifestSHA256 = hex.EncodeToString(sum[:])
	if sealed != "" && r.bundle.ManifestSHA256 != sealed {
		r.problem(manifestName, "its content was altered: it has not the SHA-256 that the seal names")
	}
	m := &r.bundle.Manifest
	if err := strictly(body, m); err != nil {
		r.problem(manifestName, "%v", err)
		return false
	}
	if m.Bundle != Format {
		r.problem(manifestName, "it is a bundle of form %d; this program reads form %d", m.Bundle, Format)
		return false
	}
	ok := len(m.Members) == len(r.zip.File)-1
	for i := range m.Members {
		ok = ok && m.Members[i].Name == r.zip.File[i].Name && (m.Members[i].Records != nil) == (i < len(members))
	}
	if !ok {
		r.problem(manifestName, "it does not list the members that there are")
		return false
	}
	if m.Inputs != inputsOf(m.Members) {
		r.problem(manifestName, "inputs_sha256 is not that of the members that it lists")
	}
	return true
}

// strictly decodes what [document] wrote, and nothing else.
func strictly(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return err
	}
	again, err := document(into)
	if err == nil && !bytes.Equal(again, body) {
		err = errForm
	}
	return err
}

// small reads a member that is kept as text.
func (r *reader) small(f *zip.File, most int64) ([]byte, error) {
	content, err := r.open(f)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(content, most+1))
	if err == nil && int64(len(body)) > most {
		err = fmt.Errorf("it is larger than %d bytes", most)
	}
	return body, err
}

// open is a member's content, by the zip's own directory but not by its checksums.
func (r *reader) open(f *zip.File) (io.Reader, error) {
	raw, err := f.OpenRaw()
	if err != nil {
		return nil, err
	}
	if f.Method == zip.Store {
		return raw, nil
	}
	return flate.NewReader(bufio.NewReaderSize(raw, buffered(int64(min(f.CompressedSize64, maxFile))))), nil
}

// buffered is the size of a buffer for so many bytes.
func buffered(size int64) int { return int(min(max(size, 512), 1<<16)) }

// readMember checks a member against the manifest while its records are read.
func (r *reader) readMember(i int) {
	said, f := &r.bundle.Manifest.Members[i], r.zip.File[i]
	if f.CompressedSize64 != uint64(max(said.StoredSize, 0)) || f.UncompressedSize64 != uint64(max(said.Size, 0)) {
		r.problem(said.Name, "its sizes are not those in the manifest")
		return
	}
	stored := newMeter(said.StoredSize)
	raw, err := f.OpenRaw()
	if err == nil {
		_, err = io.Copy(stored, raw)
	}
	if err != nil {
		r.problem(said.Name, "it cannot be read: %v", err)
		return
	}
	if stored.sha256() != said.StoredSHA256 {
		r.problem(said.Name, "it was altered: its bytes have not the SHA-256 in the manifest")
		return
	}
	unpacked, err := r.open(f)
	if err != nil {
		r.problem(said.Name, "it cannot be read: %v", err)
		return
	}
	content, crc := newMeter(said.Size), crc32.NewIEEE()
	text := io.TeeReader(unpacked, io.MultiWriter(content, crc))
	switch err := r.parse(i, text); {
	case errors.Is(err, errTooMuch):
		r.problem(said.Name, "its content is larger than the %d bytes that the manifest says", said.Size)
		return
	case err != nil:
		r.problem(said.Name, "%v", err)
		return
	}
	if content.size != said.Size || content.sha256() != said.SHA256 {
		r.problem(said.Name, "its content has not the SHA-256 in the manifest")
	}
	if crc.Sum32() != f.CRC32 {
		r.problem(said.Name, "it was altered: the zip names another checksum")
	}
}

func (r *reader) parse(i int, text io.Reader) (err error) {
	if i >= len(members) {
		body, err := io.ReadAll(io.LimitReader(text, maxSmall+1))
		switch {
		case err != nil:
			return err
		case len(body) > maxSmall:
			return fmt.Errorf("it is larger than %d MiB", maxSmall>>20)
		case others[i-len(members)] == versionsName:
			return strictly(body, &r.bundle.Versions)
		case others[i-len(members)] == reportName:
			r.bundle.Report = body
		}
		return nil
	}
	said := &r.bundle.Manifest.Members[i]
	// A record takes some fifty bytes at least, whatever the manifest says.
	if *said.Records < 0 || int64(*said.Records) > said.Size/40 {
		return fmt.Errorf("%d records do not fit into %d bytes", *said.Records, said.Size)
	}
	lines := &lineReader{
		r: bufio.NewReaderSize(text, buffered(said.Size)), again: newLineWriter(io.Discard), strings: map[string]string{},
		records: *said.Records, knownLeft: &r.known,
	}
	if err := members[i].read(lines, &r.bundle.Observations); err != nil {
		return err
	}
	if lines.line != *said.Records {
		return fmt.Errorf("it has %d records, the manifest says %d", lines.line, *said.Records)
	}
	return nil
}

// checkLayout writes everything but the members' own bytes once more, and compares:
// local headers, what lies between members, the directory and its end are to the
// byte what [Write] makes, and there is nothing else in the file.
func (r *reader) checkLayout() {
	c := &comparer{file: r.file, differs: -1}
	again := zip.NewWriter(c)
	var ends []int64
	fail := func(name string, err error) { r.problem(name, "its place in the zip cannot be read: %v", err) }
	for _, f := range r.zip.File {
		h := header(f.Name)
		h.Flags, h.CreatorVersion, h.ReaderVersion = 0x8, 20, 20
		h.CRC32, h.CompressedSize64, h.UncompressedSize64 = f.CRC32, f.CompressedSize64, f.UncompressedSize64
		w, err := again.CreateRaw(h)
		if err != nil {
			fail(f.Name, err)
			return
		}
		raw, err := f.OpenRaw()
		if err == nil {
			_, err = io.Copy(w, raw)
		}
		if err == nil {
			err = again.Flush()
		}
		if err != nil {
			fail(f.Name, err)
			return
		}
		ends = append(ends, c.at+descriptor)
	}
	_ = again.SetComment(r.zip.Comment) // no longer than the one that was read
	if err := again.Close(); err != nil {
		r.problem("", "the zip's directory cannot be compared: %v", err)
		return
	}
	if c.differs < 0 && c.at != r.size {
		c.differs = c.at
	}
	if c.differs < 0 {
		return
	}
	for i, end := range ends {
		if c.differs < end {
			r.problem(r.zip.File[i].Name, "its header in the zip was altered, at byte %d of the file", c.differs)
			return
		}
	}
	r.problem("", "the zip's directory was altered, at byte %d of the file", c.differs)
}

// descriptor is what follows a member's bytes: signature, checksum and sizes.
const descriptor = 16

// comparer compares what is written with a file, and notes the first difference.
type comparer struct {
	file    io.ReaderAt
	buffer  []byte
	at      int64
	differs int64
}

func (c *comparer) Write(p []byte) (int, error) {
	if c.differs < 0 {
		if cap(c.buffer) < len(p) {
			c.buffer = make([]byte, len(p))
		}
		there := c.buffer[:len(p)]
		n, err := c.file.ReadAt(there, c.at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := range p {
			if i >= n || there[i] != p[i] {
				c.differs = c.at + int64(i)
				break
			}
		}
	}
	c.at += int64(len(p))
	return len(p), nil
}
