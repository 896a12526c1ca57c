const small = new Set(['a', 'of', 'the']);

/** A heading: every word begins with a capital but small ones inside. */
export function titleCase(text) {
  const words = text.toLowerCase().split(' ');
  return words
    .map((word, at) => {
      if (at > 0 && small.has(word)) return word;
      word[0].toUpperCase() + word.slice(1);
    })
    .join(' ');
}
