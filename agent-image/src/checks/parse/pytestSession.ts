import { linesOf } from './text.ts';

/** What pytest's last line counts. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly errors: number;
  readonly xfailed: number;
  readonly xpassed: number;
}

export interface PytestSession {
  /** Lines before the sections of captured output. */
  readonly progress: readonly string[];
  /** Lines of the short test summary. */
  readonly summary: readonly string[];
  /** Null when the last line is not there. */
  readonly tally: Tally | null;
  readonly faults: readonly string[];
}

interface Ending {
  readonly at: number;
  readonly tally: Tally;
  readonly captured: boolean;
}

/**
 * Finds the parts of pytest's report (docs.pytest.org, "Managing pytest's output"). Text that tests
 * printed is shown in "Captured" sections and cannot pass for the last line; a second last line
 * outside of them can only be forged, or another run's, and is a fault.
 */
export function pytestSession(stdout: string): PytestSession {
  const { lines, ended } = linesOf(stdout);
  const endings = findEndings(ended ? lines : lines.slice(0, -1));
  const candidates = endings.filter(({ captured }) => !captured);
  const last = candidates.at(-1);
  const faults = candidates.length > 1 ? [`${candidates.length} last lines of pytest`] : [];
  const end = last?.at ?? lines.length;
  const header = headerBefore(lines, end);
  const progressEnd = lines.findIndex(
    (line, at) => at < end && /^=+ (?:ERRORS|FAILURES|PASSES|XPASSES|XFAILURES|warnings summary|short test summary info) =+$/.test(line),
  );
  return {
    progress: lines.slice(0, progressEnd === -1 ? end : progressEnd),
    summary: header === -1 ? [] : lines.slice(header + 1, end),
    tally: last?.tally ?? null,
    faults,
  };
}

function headerBefore(lines: readonly string[], end: number): number {
  for (let at = end - 1; at >= 0; at -= 1) if (/^=+ short test summary info =+$/.test(lines[at] ?? '')) return at;
  return -1;
}

function findEndings(lines: readonly string[]): Ending[] {
  const endings: Ending[] = [];
  let captured = false;
  lines.forEach((line, at) => {
    if (/^-{3,} Captured (?:stdout|stderr|log) (?:setup|call|teardown) -{3,}$/.test(line)) captured = true;
    else if (/^(?:={3,} [A-Za-z][A-Za-z ]{0,60} ={3,}|_{3,} .{1,500} _{3,})$/.test(line)) captured = false;
    const tally = tallyOf(line);
    if (tally !== null) endings.push({ at, tally, captured });
  });
  return endings;
}

const names: Readonly<Record<string, keyof Tally>> = {
  passed: 'passed',
  failed: 'failed',
  skipped: 'skipped',
  error: 'errors',
  errors: 'errors',
  xfailed: 'xfailed',
  xpassed: 'xpassed',
};

/** `=== 1 failed, 2 passed in 0.12s ===`, with `-q` without the rules; null for any other line. */
export function tallyOf(line: string): Tally | null {
  if (line.length > 400) return null;
  const text = line.replace(/^=+ /, '').replace(/ =+$/, '');
  const parts = /^(\S.*) in \d[\d.]*s(?: \([\d:, a-z]+\))?$/.exec(text)?.[1];
  if (parts === undefined) return null;
  const tally = { passed: 0, failed: 0, skipped: 0, errors: 0, xfailed: 0, xpassed: 0 };
  if (parts === 'no tests ran') return tally;
  for (const part of parts.split(', ')) {
    const count = /^(\d{1,9}) ([a-z][a-z ]{0,40})$/.exec(part);
    if (count === null) return null;
    const name = names[count[2] ?? ''];
    if (name !== undefined) tally[name] += Number(count[1]);
  }
  return tally;
}
