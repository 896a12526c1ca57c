package sandbox

import (
	"fmt"
	"os"
	"strings"
)

// mountPoints of this container. A line of mountinfo has the point in its fifth field, with blanks,
// tabs, newlines and backslashes as octal escapes.
func mountPoints() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return pointsOf(string(text)), nil
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func pointsOf(mountinfo string) (points []string) {
	for line := range strings.Lines(mountinfo) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, unescape.Replace(fields[4]))
		}
	}
	return points
}

// uncovered refuses a command when something is mounted inside of a folder that it may write to,
// such as a VOLUME of the user's image: this container has the mount, the keeper's does not, so
// files written there would be in no snapshot.
func uncovered(points, writable []string) error {
	for _, folder := range writable {
		inside := strings.TrimSuffix(folder, "/") + "/"
		for _, point := range points {
			if strings.HasPrefix(point, inside) {
				return fmt.Errorf("%s is mounted inside of %s, where no snapshot sees it; take the VOLUME out of the image", point, folder)
			}
		}
	}
	return nil
}
