/** The highest scores, the best first. */
export function topScores(scores, count) {
  const ordered = [...scores].sort();
  return ordered.reverse().slice(0, count);
}
