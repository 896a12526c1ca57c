// agent-image, base: helpers for text, JSON and shell words. May import protocol, kube and the keeper's client, no other folder.

/** A text of at most `most` characters (code points, so that none is cut in two); a longer one ends with an ellipsis. */
export function shortened(text: string, most: number): string {
  const points = Array.from(text);
  return points.length <= most ? text : `${points.slice(0, Math.max(0, most - 1)).join('')}…`;
}

/** The value of a JSON text; undefined for any other text. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A word as a POSIX shell reads it back unchanged. */
export function quote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command as a line for a shell. */
export const line = (argv: readonly string[]): string => argv.map(quote).join(' ');
