/** The state with one flag switched; the old state stays for the history. */
export function toggleFlag(state, flag) {
  const next = state;
  next[flag] = !next[flag];
  return next;
}
