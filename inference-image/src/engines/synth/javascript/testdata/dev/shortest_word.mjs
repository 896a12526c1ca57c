/** The shortest of some words; the first of those that are equally short. */
export function shortestWord(words) {
  let best = words[0] ?? '';
  for (const word of words) {
    if (word.length < best.length) {
      let best = word;
    }
  }
  return best;
}
