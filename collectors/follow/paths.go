package follow

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Paths are the files that a pattern names now, in order. A pattern that names none is
// an error. So is a folder that the pattern leads to and that cannot be looked into,
// beside the paths that were found in the others: nobody knows what lies in it.
func Paths(pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") { // also one with backslashes
		return []string{pattern}, nil
	}
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("files %s: %w", pattern, err)
	}
	paths, failures := list(pattern)
	if err := errors.Join(failures...); err != nil {
		return paths, fmt.Errorf("files %s: %w", pattern, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no file matches %s: %w", pattern, fs.ErrNotExist)
	}
	return paths, nil
}

// list is [filepath.Glob], which passes over what it cannot open without a word.
func list(pattern string) (paths []string, failures []error) {
	dir, name := filepath.Split(pattern)
	dir = filepath.Clean(dir)
	folders, isListed := []string{dir}, isPattern(dir)
	if isListed {
		folders, failures = list(dir)
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); isListed && err == nil && !info.IsDir() {
			continue
		}
		found, err := inFolder(folder, name)
		if err != nil && (!isListed || exists(folder)) { // else it was moved since it was listed
			failures = append(failures, err)
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	return paths, failures
}

// inFolder lists what a folder holds of a name.
func inFolder(folder, name string) (paths []string, err error) {
	if !isPattern(name) {
		path := filepath.Join(folder, name)
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			_, err = os.Stat(folder) // a link to nothing is no folder
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		return []string{path}, nil
	}
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if matched, _ := filepath.Match(name, entry.Name()); matched {
			paths = append(paths, filepath.Join(folder, entry.Name()))
		}
	}
	return paths, err
}

func isPattern(path string) bool {
	return strings.ContainsAny(path, "*?[") || filepath.Separator != '\\' && strings.Contains(path, `\`)
}

// exists says whether something stands at a path, be it a link to nothing, or may do so
// where nobody can tell.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
