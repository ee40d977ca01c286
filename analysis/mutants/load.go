package main

import (
	"bytes"
	_ "embed" // the code that mutants call
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed runtime.go.txt
var runtimeSource string

//go:embed runtime_test.go.txt
var runtimeTestSource string

// mutant is one change.
type mutant struct {
	file     string // base name
	line     int
	function string
	from, to string // the code and what it becomes
}

// key names a mutant so that it is found again after lines have moved.
func (m *mutant) key() string {
	return fmt.Sprintf("%s %s: %s -> %s", m.file, m.function, m.from, m.to)
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s -> %s", m.file, m.line, m.function, m.from, m.to)
}

// mutated is a package whose mutants are built in. A mutant's number is its place in
// mutants, plus one.
type mutated struct {
	dir, name string
	files     map[string][]byte // by base name, with the mutants
	mutants   []mutant
}

// load parses a package and puts mutants into the files that match the patterns.
func load(dir string, patterns []string) (*mutated, error) {
	exports, files, err := listPackage(dir)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	p := &mutated{dir: dir, files: map[string][]byte{}}
	sources, parsed := map[string][]byte{}, []*ast.File{}
	for _, name := range files {
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		sources[name], p.name = source, f.Name.Name
		parsed = append(parsed, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	if _, err := config.Check(p.name, fset, parsed, info); err != nil {
		return nil, err
	}
	for _, f := range parsed {
		name := fset.File(f.FileStart).Name()
		if !matches(name, patterns) {
			continue
		}
		w := &writer{p: p, info: info, file: fset.File(f.FileStart), source: sources[name]}
		w.mutate(f)
		p.files[name] = w.result()
	}
	return p, nil
}

// matches reports whether a name matches one of the patterns and none of those that
// begin with an exclamation mark.
func matches(name string, patterns []string) bool {
	in := false
	for _, pattern := range patterns {
		pattern, out := strings.CutPrefix(pattern, "!")
		if ok, _ := filepath.Match(pattern, name); ok {
			if out {
				return false
			}
			in = true
		}
	}
	return in
}

// covers reports whether a line of the list of equivalents is about a mutated file.
func (p *mutated) covers(key string) bool {
	file, _, _ := strings.Cut(key, " ")
	_, err := os.Stat(filepath.Join(p.dir, file))
	return p.files[file] != nil || errors.Is(err, os.ErrNotExist)
}

// listPackage asks the go command for a package's files and for the compiled packages
// that it imports.
func listPackage(dir string) (exports map[string]string, files []string, err error) {
	out, err := run(dir, "go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles,DepOnly", ".")
	if err != nil {
		return nil, nil, err
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
			DepOnly            bool
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return exports, files, nil
		} else if err != nil {
			return nil, nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			files = p.GoFiles
		}
	}
}

// build compiles the test binary with all mutants in it, without touching the tree.
func (p *mutated) build(work string) (string, error) {
	fill := strings.NewReplacer("PACKAGE", p.name, "COUNT", fmt.Sprint(len(p.mutants)))
	p.files["mutants_runtime.go"] = []byte(fill.Replace(runtimeSource))
	p.files["mutants_runtime_test.go"] = []byte(fill.Replace(runtimeTestSource))
	replace := map[string]string{}
	for name, source := range p.files {
		path := filepath.Join(work, name+".mutated")
		if err := os.WriteFile(path, source, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(p.dir, name)] = path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlayPath, binary := filepath.Join(work, "overlay.json"), filepath.Join(work, "mutants.test")
	if err := os.WriteFile(overlayPath, overlay, 0o600); err != nil {
		return "", err
	}
	_, err = run(p.dir, "go", "test", "-c", "-vet=off", "-overlay", overlayPath, "-o", binary, ".")
	return binary, err
}

// run runs a command and returns its standard output.
func run(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, stderr.Bytes())
	}
	return out, nil
}
