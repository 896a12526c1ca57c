package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// entry describes a folder on the shelf. Its record is written last, so that a folder without one is no entry.
type entry struct {
	Name string
	// Source is the folder that it was copied from; empty for a new volume.
	Source string
	Size   int64
	Made   time.Time
}

// errOther reports that there is an entry of this id with another source or size.
var errOther = errors.New("there is one of this name, made from something else")

// shelf holds volumes and snapshots as folders.
type shelf struct {
	root string
	// One change at a time: retries of the sidecars overlap.
	mutex sync.Mutex
}

func openShelf(root string) (*shelf, error) {
	return &shelf{root: root}, os.MkdirAll(root, 0o711)
}

// idOf makes a folder's name from a request's, which may hold anything.
func idOf(prefix, name string) string {
	sum := sha256.Sum256([]byte(name))
	return prefix + hex.EncodeToString(sum[:10])
}

var validID = regexp.MustCompile(`^(vol|snap)-[0-9a-f]{20}$`)

func (s *shelf) path(id string) string {
	return filepath.Join(s.root, id)
}

func (s *shelf) find(id string) (entry, bool) {
	var found entry
	if !validID.MatchString(id) {
		return found, false
	}
	text, err := os.ReadFile(s.path(id) + ".json")
	return found, err == nil && json.Unmarshal(text, &found) == nil
}

// put makes an entry, or finds it made. source is the id of what is copied; empty: an empty folder.
func (s *shelf) put(id string, wanted entry) (entry, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known, ok := s.find(id); ok {
		if known.Source != wanted.Source || known.Size != wanted.Size {
			return known, errOther
		}
		return known, nil
	}
	if err := s.fill(id, wanted.Source); err != nil {
		return wanted, err
	}
	wanted.Made = time.Now()
	return wanted, s.record(id, wanted)
}

func (s *shelf) fill(id, source string) error {
	if err := os.RemoveAll(s.path(id)); err != nil {
		return err
	}
	if source != "" {
		output, err := exec.Command("cp", "-a", "--reflink=auto", s.path(source), s.path(id)).CombinedOutput()
		if err != nil {
			return fmt.Errorf("copy of %s: %w: %s", source, err, output)
		}
		return nil
	}
	if err := os.Mkdir(s.path(id), 0o770); err != nil {
		return err
	}
	return os.Chmod(s.path(id), 0o770)
}

func (s *shelf) record(id string, made entry) error {
	text, err := json.Marshal(made)
	if err != nil {
		return err
	}
	path := s.path(id) + ".json"
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// drop removes an entry; one that is not there is removed already.
func (s *shelf) drop(id string) error {
	if !validID.MatchString(id) {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := os.Remove(s.path(id) + ".json"); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.RemoveAll(s.path(id))
}
