package sandbox

import (
	"slices"
	"strings"
	"testing"
)

const mountinfo = `22 1 0:20 / / ro,relatime - overlay overlay rw
30 22 8:1 /volumes/workspace /workspace rw - ext4 /dev/vda rw
31 30 8:1 /volumes/cache /workspace/a\040b rw - ext4 /dev/vda rw
32 22 8:1 /volumes/home /workspacex rw - ext4 /dev/vda rw
`

func TestMountInsideOfARootIsRefused(t *testing.T) {
	points := pointsOf(mountinfo)
	if want := []string{"/", "/workspace", "/workspace/a b", "/workspacex"}; !slices.Equal(points, want) {
		t.Fatalf("%q, want %q", points, want)
	}
	if err := uncovered(points, []string{"/home/agent", "/workspace"}); err == nil || !strings.Contains(err.Error(), "/workspace/a b") {
		t.Error(err)
	}
	for _, fine := range [][]string{{"/home/agent"}, {"/workspacex"}, {"/workspace/a b"}, nil} {
		if err := uncovered(points, fine); err != nil {
			t.Errorf("%q: %v", fine, err)
		}
	}
}
