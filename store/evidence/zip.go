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
	"hash"
	"io"
	"regexp"
	"strings"

	"github.com/klauspost/compress/flate"

	"gapless/analysis"
)

// Manifest names every other member of a bundle, in order.
type Manifest struct {
	Bundle  int      `json:"bundle"` // [Format]
	Deploy  string   `json:"deploy"`
	Inputs  string   `json:"inputs_sha256"` // of the members that hold observations, see [InputsSHA256]
	Members []Member `json:"members"`
}

// Member is one file of a bundle. Size and SHA256 are of its content, the stored
// ones of its compressed form in the zip.
type Member struct {
	Name         string `json:"name"`
	Records      *int   `json:"records"` // null where it does not hold observations
	Size         int64  `json:"size"`
	SHA256       string `json:"sha256"`
	StoredSize   int64  `json:"stored_size"`
	StoredSHA256 string `json:"stored_sha256"`
}

// inputsOf is the SHA-256 over what sha256sum prints for the members that hold
// observations.
func inputsOf(all []Member) string {
	sum := sha256.New()
	for _, m := range all {
		if m.Records != nil {
			fmt.Fprintf(sum, "%s  %s\n", m.SHA256, m.Name)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// InputsSHA256 identifies observations: it is what a bundle of them would say as
// inputs_sha256. It depends on all of them, the moment they are of included.
func InputsSHA256(o analysis.Observations) (string, error) {
	var all []Member
	for _, m := range members {
		sum := sha256.New()
		w := newLineWriter(sum)
		if err := m.write(w, &o); err != nil {
			return "", fmt.Errorf("write %s: %w", m.name, err)
		}
		all = append(all, Member{Name: m.name, Records: &w.records, SHA256: hex.EncodeToString(sum.Sum(nil))})
	}
	return inputsOf(all), nil
}

// Write writes the bundle of one deploy. report is given the observations' SHA-256
// and returns the report as JSON. It returns the SHA-256 of the manifest, by which
// the bundle is known.
func Write(w io.Writer, o analysis.Observations, v Versions, report func(inputsSHA256 string) ([]byte, error)) (manifestSHA256 string, err error) {
	z := newZipper(w)
	for _, m := range members {
		if err := z.records(m, &o); err != nil {
			return "", fmt.Errorf("write %s: %w", m.name, err)
		}
	}
	manifest := Manifest{Bundle: Format, Deploy: shownID(&o), Inputs: inputsOf(z.done)}
	reported, err := report(manifest.Inputs)
	if err != nil {
		return "", err
	}
	v.Bundle = Format
	versions, err := document(v)
	if err != nil {
		return "", err
	}
	for i, body := range [][]byte{versions, reported, formatText} {
		if err := z.file(others[i], body); err != nil {
			return "", fmt.Errorf("write %s: %w", others[i], err)
		}
	}
	return z.seal(manifest)
}

// shownID is the deploy's id as JSON can show it.
func shownID(o *analysis.Observations) string { return strings.ToValidUTF8(o.Deploy.ID, "\ufffd") }

// document is a small member, indented for people.
func document(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipper writes the zip. The same contents give the same bytes: members have no
// times, and the compressor is the one that go.mod pins.
type zipper struct {
	zip    *zip.Writer
	out    *sealWriter
	stored []*meter // of each member; final when the next one has begun
	total  int64
	done   []Member
}

func newZipper(w io.Writer) *zipper {
	z := &zipper{out: newSealWriter(w)}
	z.zip = zip.NewWriter(z.out)
	z.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(io.MultiWriter(w, z.stored[len(z.stored)-1]), flate.DefaultCompression)
	})
	return z
}

// meter counts and hashes.
type meter struct {
	sum  hash.Hash
	size int64
	left int64 // bytes that may still come
}

func newMeter(left int64) *meter { return &meter{sum: sha256.New(), left: left} }

var errTooMuch = fmt.Errorf("the evidence takes more than %d MiB", maxContent>>20)

func (m *meter) Write(p []byte) (int, error) {
	if m.left -= int64(len(p)); m.left < 0 {
		return 0, errTooMuch
	}
	m.size += int64(len(p))
	return m.sum.Write(p)
}

func (m *meter) sha256() string { return hex.EncodeToString(m.sum.Sum(nil)) }

// header is what the zip says of a member when it begins.
func header(name string) *zip.FileHeader {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.ModifiedDate = 1<<5 | 1 //nolint:staticcheck // 1980-01-01, the first there is; Modified would add a time to it
	if name == manifestName {
		h.Method = zip.Store
	}
	return h
}

func (z *zipper) records(m member, o *analysis.Observations) error {
	records := 0
	return z.member(m.name, &records, func(w io.Writer) error {
		lines := newLineWriter(w)
		err := m.write(lines, o)
		records = lines.records
		return err
	})
}

func (z *zipper) file(name string, body []byte) error {
	return z.member(name, nil, func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}

func (z *zipper) member(name string, records *int, write func(io.Writer) error) error {
	content := newMeter(maxContent - z.total)
	z.stored = append(z.stored, newMeter(maxFile))
	w, err := z.zip.CreateHeader(header(name))
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(io.MultiWriter(content, w), 1<<16)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	z.total += content.size
	z.done = append(z.done, Member{Name: name, Records: records, Size: content.size, SHA256: content.sha256()})
	return nil
}

// seal writes the manifest and, at the very end, the seal.
func (z *zipper) seal(manifest Manifest) (string, error) {
	w, err := z.zip.CreateHeader(header(manifestName)) // which ends the member before
	if err != nil {
		return "", err
	}
	for i, m := range z.stored {
		z.done[i].StoredSize, z.done[i].StoredSHA256 = m.size, m.sha256()
	}
	manifest.Members = z.done
	body, err := document(manifest)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(body); err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	known := hex.EncodeToString(sum[:])
	if err := z.zip.SetComment(sealText(known)); err != nil {
		return "", err
	}
	if err := z.zip.Close(); err != nil {
		return "", err
	}
	return known, z.out.close()
}

// The seal is the zip's comment. It ends with the SHA-256 of every byte before that.
const sealHead = "gapless evidence bundle 1\nmanifest.json sha256 "
const sealMiddle = "\nfile sha256 "
const digest = 2 * sha256.Size

var sealForm = regexp.MustCompile(`^` + sealHead + `([0-9a-f]{64})` + sealMiddle + `([0-9a-f]{64})$`)

const sealLen = int64(len(sealHead) + digest + len(sealMiddle) + digest)

// sealText is a seal whose last digest is still to come.
func sealText(manifest string) string {
	return sealHead + manifest + sealMiddle + string(bytes.Repeat([]byte{'0'}, digest))
}

// sealWriter hashes what it passes on, and holds the last bytes back until it is
// known what they must be.
type sealWriter struct {
	w    io.Writer
	sum  hash.Hash
	size int64
	held []byte
}

func newSealWriter(w io.Writer) *sealWriter { return &sealWriter{w: w, sum: sha256.New()} }

func (s *sealWriter) Write(p []byte) (int, error) {
	s.held = append(s.held, p...)
	if pass := len(s.held) - digest; pass > 0 {
		s.sum.Write(s.held[:pass])
		if s.size += int64(pass); s.size > maxFile {
			return 0, errTooMuch
		}
		if _, err := s.w.Write(s.held[:pass]); err != nil {
			return 0, err
		}
		s.held = append(s.held[:0], s.held[pass:]...)
	}
	return len(p), nil
}

func (s *sealWriter) close() error {
	if len(s.held) != digest {
		return errors.New("the zip has no room for its seal")
	}
	_, err := io.WriteString(s.w, hex.EncodeToString(s.sum.Sum(nil)))
	return err
}
