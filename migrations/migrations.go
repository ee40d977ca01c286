// Package migrations embeds the database's schema: numbered SQL files, applied in
// order, each in one transaction. A file that has been released is never edited;
// a change of schema is a new file. The store records each file's checksum when it
// applies it and refuses to go on when one differs later.
package migrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed *.sql
var files embed.FS

// Files are the released migrations.
var Files fs.FS = files

// Migration is one step of the schema.
type Migration struct {
	Version int64
	Name    string // file name
	SQL     string
	SHA256  string // of the SQL, in hexadecimal
}

// Read reads every migration in dir, in order. Versions start at 1 and leave no gap.
func Read(dir fs.FS) ([]Migration, error) {
	names, err := fs.Glob(dir, "*.sql") // sorted
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	all := make([]Migration, 0, len(names))
	for i, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version != int64(i+1) {
			return nil, fmt.Errorf("migration %s: want number %d before the first underscore", name, i+1)
		}
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", name, err)
		}
		sum := sha256.Sum256(text)
		all = append(all, Migration{Version: version, Name: name, SQL: string(text), SHA256: hex.EncodeToString(sum[:])})
	}
	return all, nil
}
