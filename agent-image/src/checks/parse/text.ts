/**
 * Output as lines. Everything here takes linear time: the output is written by code under test.
 */

/** What is read of each stream; a longer one is incomplete. */
export const maxCharacters = 48 << 20;

/** A longer line is noise: no runner prints one as a result. */
const maxLine = 8192;

// CSI, OSC and two-character escapes (ECMA-48); the classes do not overlap, so there is no backtracking.
// eslint-disable-next-line no-control-regex
const escapes = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]{0,4096}(?:\u0007|\u001B\\)|[@-Z\\^_])/g;

export function stripAnsi(text: string): string {
  return text.includes('\u001B') ? text.replace(escapes, '') : text;
}

/** Lines of a stream without ANSI escapes and line ends, and whether the last one was ended. */
export interface Lines {
  readonly lines: readonly string[];
  /** The last line has its line end: it was not cut. */
  readonly ended: boolean;
  readonly cut: boolean;
}

/**
 * Splits at LF and CRLF. A bare CR (progress bars) starts the line anew, as on a terminal.
 * Lines that are too long are kept as empty ones.
 */
export function linesOf(stream: string): Lines {
  const cut = stream.length > maxCharacters;
  const text = stripAnsi(cut ? stream.slice(0, maxCharacters) : stream);
  const lines = text.split('\n');
  const ended = lines.length > 0 && lines.at(-1) === '';
  if (ended) lines.pop();
  return { lines: lines.map(clean), ended: ended && !cut, cut };
}

function clean(line: string): string {
  if (line.length > maxLine) return '';
  const whole = line.endsWith('\r') ? line.slice(0, -1) : line;
  const restart = whole.lastIndexOf('\r');
  return restart === -1 ? whole : whole.slice(restart + 1);
}

/** Cuts at `limit` characters, never inside a surrogate pair. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = text.charCodeAt(limit - 2);
  return `${text.slice(0, end >= 0xd8_00 && end <= 0xdb_ff ? limit - 2 : limit - 1)}…`;
}

/** The rest after the last of `words` that ends `text`, as [before, word]; null without one. */
export function splitLastWord<W extends string>(text: string, words: readonly W[]): readonly [string, W] | null {
  for (const word of words) {
    if (text === word) return ['', word];
    if (text.endsWith(` ${word}`)) return [text.slice(0, -word.length - 1), word];
  }
  return null;
}
