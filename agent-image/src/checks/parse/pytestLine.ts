import { splitLastWord } from './text.ts';

export type PytestWord = 'PASSED' | 'FAILED' | 'SUBFAILED' | 'ERROR' | 'SKIPPED' | 'XFAIL' | 'XPASS';

/** A result as pytest prints it, once per phase or subtest of a test. */
export interface Entry {
  readonly id: string;
  readonly word: PytestWord;
  readonly times: number;
  readonly kind: 'Test' | 'Location' | 'Container';
  readonly message: string;
}

const words: readonly PytestWord[] = ['PASSED', 'FAILED', 'ERROR', 'SKIPPED', 'XFAIL', 'XPASS'];

/** A line of the short test summary: `FAILED tests/a.py::test_x[1] - assert 1 == 2`. */
export function summaryEntry(line: string): Entry | null {
  const sub = /^SUBFAIL(?:ED)?[([]/.test(line) ? subtestEnd(line) : -1;
  if (sub !== -1) return { ...named(line.slice(sub)), word: 'SUBFAILED', times: 1 };
  const word = words.find((candidate) => line.startsWith(`${candidate} `));
  if (word === undefined) return null;
  const rest = line.slice(word.length + 1);
  const folded = /^\[(\d{1,6})\] (\S.*)$/.exec(rest);
  if (word === 'SKIPPED' && folded !== null) {
    return { id: (folded[2] ?? '').trim(), word, times: Number(folded[1]), kind: 'Location', message: '' };
  }
  const entry = named(rest);
  return { ...entry, word, times: 1, kind: word === 'ERROR' && !entry.id.includes('::') ? 'Container' : 'Test' };
}

/** Where the node id starts after `SUBFAILED(i=1) ` or `SUBFAILED[msg] (i=1) `. */
function subtestEnd(line: string): number {
  const path = /[)\]] (?=[^\s()[\]]+::)/.exec(line);
  return path === null ? -1 : path.index + 2;
}

/** Node id and message; a ` - ` inside the brackets of a parametrised id belongs to the id. */
function named(rest: string): Pick<Entry, 'id' | 'message' | 'kind'> {
  let depth = 0;
  for (let at = 0; at < rest.length; at += 1) {
    const char = rest[at];
    if (char === '[') depth += 1;
    else if (char === ']') depth -= 1;
    else if (depth <= 0 && char === ' ' && rest.startsWith(' - ', at)) {
      return { id: rest.slice(0, at), message: rest.slice(at + 3), kind: 'Test' };
    }
  }
  // Unbalanced brackets in an id: better a message in the id than a wrong id.
  return { id: rest, message: '', kind: 'Test' };
}

/** A line of `-v`: `tests/a.py::test_x PASSED   [ 50%]`, or xdist's `[gw0] [ 50%] PASSED tests/a.py::test_x`. */
export function verboseEntry(line: string): Entry | null {
  const worker = /^\[gw\d+\] \[ *\d+%\] ([A-Z]+) (\S.*)$/.exec(line);
  if (worker !== null) {
    const word = words.find((candidate) => candidate === worker[1]);
    return word === undefined ? null : { id: (worker[2] ?? '').trim(), word, times: 1, kind: 'Test', message: '' };
  }
  if (!line.includes('::') || line.startsWith(' ')) return null;
  const text = withoutProgress(line.trimEnd());
  const plain = splitLastWord(text, words) ?? splitLastWord(withoutReason(text), words);
  if (plain === null || !plain[0].includes('::')) return null;
  return { id: plain[0].trim(), word: plain[1], times: 1, kind: 'Test', message: '' };
}

/** Takes `[ 50%]`, `[ 3/16]` or a time off the end. */
function withoutProgress(line: string): string {
  const open = line.lastIndexOf('[');
  if (open === -1 || !/^\[ *(?:\d+%|\d+\/\d+|[\d.]+m?s)\]$/.test(line.slice(open))) return line;
  return line.slice(0, open).trimEnd();
}

function withoutReason(line: string): string {
  if (!line.endsWith(')')) return line;
  for (const word of ['SKIPPED', 'XFAIL', 'XPASS']) {
    const at = line.indexOf(` ${word} (`);
    if (at !== -1) return line.slice(0, at + word.length + 1);
  }
  return line;
}
