package evidence

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
)

// A zip that was put together otherwise is refused although its seal fits.
func TestForgedZips(t *testing.T) {
	body := write(t, invented(8))
	index := func(z *forgedZip, name string) int {
		return slices.IndexFunc(z.files, func(f rawFile) bool { return f.name == name })
	}
	listed := func(z *forgedZip, name string) *Member {
		return &z.manifest.Members[slices.IndexFunc(z.manifest.Members, func(m Member) bool { return m.Name == name })]
	}
	other := strings.Repeat("0", digest)
	for name, test := range map[string]struct {
		change func(z *forgedZip)
		member string
		says   string
	}{
		"other stored bytes": {func(z *forgedZip) { listed(z, "steps.ndjson").StoredSHA256 = other }, "steps.ndjson", "its bytes have not"},
		"other content": {func(z *forgedZip) {
			listed(z, "steps.ndjson").SHA256 = other
			z.manifest.Inputs = inputsOf(z.manifest.Members)
		}, "steps.ndjson", "its content has not"},
		"other inputs":          {func(z *forgedZip) { z.manifest.Inputs = other }, manifestName, "inputs_sha256"},
		"another form":          {func(z *forgedZip) { z.manifest.Bundle = 2 }, manifestName, "form 2"},
		"a member not listed":   {func(z *forgedZip) { z.manifest.Members = z.manifest.Members[1:] }, manifestName, "does not list"},
		"members listed oddly":  {func(z *forgedZip) { m := z.manifest.Members; m[3], m[4] = m[4], m[3] }, manifestName, "does not list"},
		"records of the report": {func(z *forgedZip) { listed(z, reportName).Records = new(int) }, manifestName, "does not list"},
		"too many records":      {func(z *forgedZip) { *listed(z, "steps.ndjson").Records = 1 << 40 }, "steps.ndjson", "do not fit"},
		"less than no records":  {func(z *forgedZip) { *listed(z, "steps.ndjson").Records = -1 }, "steps.ndjson", "do not fit"},
		"another size":          {func(z *forgedZip) { listed(z, "steps.ndjson").Size++ }, "steps.ndjson", "sizes are not those"},
		"another stored size":   {func(z *forgedZip) { listed(z, "steps.ndjson").StoredSize++ }, "steps.ndjson", "sizes are not those"},
		"a size below nothing":  {func(z *forgedZip) { listed(z, "steps.ndjson").Size = -1 }, "steps.ndjson", "sizes are not those"},
		"another checksum":      {func(z *forgedZip) { z.files[index(z, "steps.ndjson")].crc++ }, "steps.ndjson", "another checksum"},
		"a member twice": {func(z *forgedZip) {
			z.files[index(z, "cells.ndjson")] = z.files[index(z, "steps.ndjson")]
		}, "steps.ndjson", "twice"},
		"another order": {func(z *forgedZip) {
			a, b := index(z, "cells.ndjson"), index(z, "steps.ndjson")
			z.files[a], z.files[b] = z.files[b], z.files[a]
		}, "cells.ndjson", "not in its place"},
		"not compressed": {func(z *forgedZip) {
			f := &z.files[index(z, "steps.ndjson")]
			f.method, f.raw = zip.Store, contentOf(t, body, f.name)
		}, "steps.ndjson", "method 0"},
		"a manifest in another form": {func(z *forgedZip) { z.listed = []byte(`{"bundle":1}`) }, manifestName, "not as gapless writes it"},
		"a manifest with more in it": {func(z *forgedZip) {
			z.listed = bytes.Replace(contentOf(t, body, manifestName), []byte(`{`), []byte(`{"note":"",`), 1)
		}, manifestName, "not as gapless writes it"},
		"a manifest without an end": {func(z *forgedZip) { z.listed = bytes.Repeat([]byte(" "), 2<<20) }, manifestName, "larger than"},
		"versions with more in them": {func(z *forgedZip) {
			z.replace(t, versionsName, []byte(`{"bundle":1,"binary":"","go":"","report_schema":1}`))
		}, versionsName, "not as gapless writes it"},
	} {
		t.Run(name, func(t *testing.T) {
			forged := forgeZip(t, body, test.change)
			_, problems := Read(bytes.NewReader(forged), int64(len(forged)))
			if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Member == test.member && strings.Contains(p.What, test.says) }) {
				t.Errorf("want %q about %q: %v", test.says, test.member, problems)
			}
		})
	}
	if same := forgeZip(t, body, func(*forgedZip) {}); !bytes.Equal(same, body) {
		t.Error("a zip that was put together the same way differs")
	}
}

// What a zip holds beside its members' own bytes is one way only, also where the
// seal fits.
func TestForgedLayouts(t *testing.T) {
	body := write(t, invented(9))
	at := func(name string) int { // of a member's local header
		for _, r := range regionsOf(t, body) {
			if r.member == name {
				return r.from - 30 - len(name)
			}
		}
		t.Fatal(name)
		return 0
	}
	directory := bytes.LastIndex(body, []byte("PK\x01\x02"))
	for name, test := range map[string]struct {
		change func(b []byte) []byte
		member string
		says   string
	}{
		"a member's time":         {func(b []byte) []byte { b[at("steps.ndjson")+10] ^= 1; return b }, "steps.ndjson", "header in the zip was altered"},
		"a time in the directory": {func(b []byte) []byte { b[directory+12] ^= 1; return b }, "", "directory was altered"},
		"attributes":              {func(b []byte) []byte { b[directory+38] ^= 1; return b }, "", "directory was altered"},
		"something in front":      {func(b []byte) []byte { return append([]byte("#!/bin/sh\n"), b...) }, "deploy.json", "header in the zip was altered"},
		"a checksum after a member": {func(b []byte) []byte {
			b[at("states.ndjson")-1] ^= 1 // of the member before
			return b
		}, "groups.ndjson", "header in the zip was altered"},
	} {
		t.Run(name, func(t *testing.T) {
			forged := reseal(test.change(slices.Clone(body)))
			if _, err := CheckSeal(bytes.NewReader(forged), int64(len(forged))); err != nil {
				t.Fatal(err)
			}
			_, problems := Read(bytes.NewReader(forged), int64(len(forged)))
			if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Member == test.member && strings.Contains(p.What, test.says) }) {
				t.Errorf("want %q about %q: %v", test.says, test.member, problems)
			}
		})
	}
}

// rawFile is a member as it stands in the zip.
type rawFile struct {
	name   string
	method uint16
	crc    uint32
	size   uint64
	raw    []byte
}

type forgedZip struct {
	files    []rawFile // without the manifest
	manifest Manifest
	listed   []byte // the manifest's text; nil: as the manifest is
}

// replace puts another content in, with hashes that fit.
func (z *forgedZip) replace(t *testing.T, name string, content []byte) {
	t.Helper()
	var packed bytes.Buffer
	w := newZipper(&packed)
	check(t, w.file(name, content))
	_, err := w.seal(Manifest{})
	check(t, err)
	for i := range z.files {
		if z.files[i].name == name {
			z.files[i] = rawFilesOf(t, packed.Bytes())[0]
			records := z.manifest.Members[i].Records
			z.manifest.Members[i] = w.done[0]
			z.manifest.Members[i].Records = records
		}
	}
}

func rawFilesOf(t *testing.T, body []byte) []rawFile {
	t.Helper()
	var files []rawFile
	for _, f := range filesOf(t, body) {
		r, err := f.OpenRaw()
		check(t, err)
		raw, err := io.ReadAll(r)
		check(t, err)
		files = append(files, rawFile{f.Name, f.Method, f.CRC32, f.UncompressedSize64, raw})
	}
	return files
}

func forgeZip(t *testing.T, body []byte, change func(*forgedZip)) []byte {
	t.Helper()
	z := &forgedZip{files: rawFilesOf(t, body)}
	z.files = z.files[:len(z.files)-1]
	check(t, json.Unmarshal(contentOf(t, body, manifestName), &z.manifest))
	change(z)
	listed := z.listed
	if listed == nil {
		var err error
		listed, err = document(z.manifest)
		check(t, err)
	}
	files := append(z.files, rawFile{manifestName, zip.Store, crc32.ChecksumIEEE(listed), uint64(len(listed)), listed})
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := header(f.name)
		h.Method, h.Flags, h.CreatorVersion, h.ReaderVersion = f.method, 0x8, 20, 20
		h.CRC32, h.CompressedSize64, h.UncompressedSize64 = f.crc, uint64(len(f.raw)), f.size
		raw, err := w.CreateRaw(h)
		check(t, err)
		_, err = raw.Write(f.raw)
		check(t, err)
	}
	sum := sha256.Sum256(listed)
	check(t, w.SetComment(sealText(hex.EncodeToString(sum[:]))))
	check(t, w.Close())
	return reseal(out.Bytes())
}

// reseal makes the seal fit what stands before it.
func reseal(b []byte) []byte {
	sum := sha256.Sum256(b[:len(b)-digest])
	return append(b[:len(b)-digest], hex.EncodeToString(sum[:])...)
}
