package files

import (
	"errors"
	"os"
	"path/filepath"
)

// Empty removes everything inside dir and keeps dir itself. Folders that their owner has closed are
// opened first. Symbolic links are removed, never followed. Entries that cannot be removed (another
// owner, or a mount) are left and named in the error; a missing dir is empty.
func Empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		all = errors.Join(all, removeTree(filepath.Join(dir, e.Name()), e.IsDir()))
	}
	return all
}

func removeTree(path string, isDir bool) error {
	if !isDir {
		return os.Remove(path)
	}
	// Mode first: a closed folder can be neither listed nor emptied. Chmod cannot follow a link
	// here: nothing else runs, and ReadDir reported a folder.
	_ = os.Chmod(path, 0o700)
	if err := Empty(path); err != nil {
		return err
	}
	return os.Remove(path)
}
