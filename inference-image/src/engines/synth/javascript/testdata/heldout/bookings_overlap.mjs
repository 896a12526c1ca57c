/** Whether two bookings need the room at one time; one may begin when the other ends. */
export function overlap(one, other) {
  if (one.room !== other.room) return false;
  return one.start < other.end && other.start <= one.end;
}
