//go:build !impatient

package supervise

import "time"

// escalateAfter is how long rounds may keep finding new processes before PID 1 is asked to kill
// everybody.
const escalateAfter = time.Second
