/** Shannon entropy of a text's characters, in bits per character. */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

const minBits = 4.2;
/** Random base 62 changes between capitals, small letters and digits at 0.63 of its places, names that people write at far fewer. */
const minChanges = 0.42;

/**
 * Whether only a generator writes such a word: letters of both cases and digits mixed as no name is. Hexadecimal digests,
 * paths, identifiers and words are not; those of 32 to 100 characters are judged.
 */
export function looksGenerated(word: string): boolean {
  const bare = word.replace(/=+$/, '');
  if (/[a-z]{7}|[A-Z]{7}|[_-]{2}|\/.*\/.*\//.test(bare)) return false;
  if (countOf(bare, /[a-z]/g) < 5 || countOf(bare, /[A-Z]/g) < 5 || countOf(bare, /\d/g) < 3) return false;
  return changes(bare) >= minChanges && entropyOf(bare) >= minBits;
}

/**
 * Whether what a name like `password` gets is a value and no piece of code: digits among letters, and no word of a program.
 */
export function looksAssigned(value: string): boolean {
  const digits = countOf(value, /\d/g);
  if (digits < 2 || countOf(value, /[A-Za-z]/g) < 4 || /[a-z]{8}|[A-Z]{8}/.test(value)) return false;
  return changes(value) >= 0.3 && entropyOf(value) >= 3.1;
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

/** Share of neighbours that are of different classes. */
function changes(text: string): number {
  let changed = 0;
  for (let at = 1; at < text.length; at++) if (classOf(text.charCodeAt(at)) !== classOf(text.charCodeAt(at - 1))) changed += 1;
  return changed / (text.length - 1);
}

function classOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return 0;
  if (code >= 0x41 && code <= 0x5a) return 1;
  if (code >= 0x61 && code <= 0x7a) return 2;
  return 3;
}
