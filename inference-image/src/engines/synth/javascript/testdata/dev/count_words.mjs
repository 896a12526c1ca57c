/** How often each word occurs, in lower case. */
export function countWords(text) {
  const counts = {};
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const word of words) {
    counts[word] = counts[word] + 1;
  }
  return counts;
}
