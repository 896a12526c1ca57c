package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestSnapshotKeepsWhatTheVolumeLoses(t *testing.T) {
	s, err := openShelf(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	volume, snapshot, copied := idOf("vol-", "a"), idOf("snap-", "a"), idOf("vol-", "b")
	put := func(id string, wanted entry) {
		t.Helper()
		if _, err := s.put(id, wanted); err != nil {
			t.Fatal(err)
		}
	}
	put(volume, entry{Size: 1})
	file := filepath.Join(s.path(volume), "file")
	if err := os.WriteFile(file, []byte("before"), 0o640); err != nil {
		t.Fatal(err)
	}
	put(snapshot, entry{Source: volume, Size: 1})
	if err := os.WriteFile(file, []byte("after"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(copied, entry{Source: snapshot, Size: 1})
	if err := s.drop(volume); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.path(copied), "file"))
	info, _ := os.Stat(filepath.Join(s.path(copied), "file"))
	if err != nil || string(text) != "before" || info.Mode().Perm() != 0o640 {
		t.Fatalf("restored %q %v %v", text, info.Mode(), err)
	}
}

func TestPutIsIdempotentAndRefusesAnother(t *testing.T) {
	s, err := openShelf(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := idOf("vol-", "a")
	first, _ := s.put(id, entry{Size: 1})
	again, err := s.put(id, entry{Size: 1})
	if err != nil || !first.Made.Equal(again.Made) {
		t.Fatalf("made twice: %v %v %v", first, again, err)
	}
	if _, err := s.put(id, entry{Size: 2}); !errors.Is(err, errOther) {
		t.Fatalf("another size passed: %v", err)
	}
}

func TestFolderWithoutARecordIsNone(t *testing.T) {
	s, err := openShelf(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := idOf("vol-", "a")
	if err := os.MkdirAll(filepath.Join(s.path(id), "half"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.find(id); ok {
		t.Fatal("half a copy was taken for a volume")
	}
	if _, err := s.put(id, entry{}); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(s.path(id)); len(left) != 0 {
		t.Fatalf("half a copy was kept: %v", left)
	}
}

func TestIDsOfOthersAreRefused(t *testing.T) {
	s, err := openShelf(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(s.root), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.drop("../outside"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Fatal("an id led out of the folder")
	}
}
