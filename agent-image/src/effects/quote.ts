/** A word as a POSIX shell reads it back unchanged. */
export function quote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command as a line for a shell. */
export const line = (argv: readonly string[]): string => argv.map(quote).join(' ');
