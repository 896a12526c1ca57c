//go:build impatient

package supervise

import "time"

// The tests build this variant: no fork race is lost reliably enough to reach the last resort.
const escalateAfter = time.Duration(0)
