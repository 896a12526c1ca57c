import type { Outcome } from '../results.ts';
import type { Found } from './collector.ts';

/** The summary of node:test; a todo counts neither as pass nor as fail. */
export interface NodeTally {
  readonly tests: number;
  readonly suites: number;
  readonly pass: number;
  readonly fail: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly todo: number;
}

const fields = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo'] as const;

/** Reads `tests 3`, `suites 0`, … from the start of the lines; null when one is missing. */
export function tallyOf(lines: readonly string[]): NodeTally | null {
  const start = lines.findIndex((line) => /^tests \d+$/.test(line));
  if (start === -1) return null;
  const tally: Partial<Record<(typeof fields)[number], number>> = {};
  for (const [at, field] of fields.entries()) {
    const value = new RegExp(`^${field} (\\d{1,9})$`).exec(lines[start + at] ?? '')?.[1];
    if (value === undefined) return null;
    tally[field] = Number(value);
  }
  return tally as NodeTally;
}

interface Open {
  readonly name: string;
  readonly indent: number;
  children: number;
  failed: boolean;
}

interface Reading {
  readonly found: Found[];
  readonly open: Open[];
}

const marks: Readonly<Record<string, Outcome>> = { '✔': 'Passed', '✖': 'Failed', '﹣': 'Skipped', '⚠': 'Skipped' };

/**
 * The spec reporter: `▶ group`, its results indented by two more, `✔ group (1.2ms)`; `ℹ` lines are the
 * summary. After it the failures are told again, which counts for nothing.
 */
export function nodeSpec(lines: readonly string[]): { readonly found: readonly Found[]; readonly tallies: readonly NodeTally[] } {
  const tallies: NodeTally[] = [];
  const reading: Reading = { found: [], open: [] };
  let summary: string[] = [];
  for (const line of lines) {
    if (line.startsWith('ℹ ')) {
      summary.push(line.slice(2));
      const tally = line.startsWith('ℹ duration_ms ') ? tallyOf(summary) : null;
      if (tally !== null) {
        tallies.push(tally);
        summary = [];
      }
    } else if (tallies.length === 0) takeLine(reading, line);
  }
  return { found: reading.found, tallies };
}

function takeLine(reading: Reading, line: string): void {
  const text = line.trimStart();
  const indent = line.length - text.length;
  const mark = text[0] ?? '';
  if (text[1] !== ' ' || indent % 2 !== 0 || indent > 128) return;
  const { name, seconds, directive } = parts(text.slice(2));
  if (mark === '▶') return takeGroup(reading, name, indent, seconds);
  const outcome = marks[mark];
  if (outcome === undefined || seconds === null) return;
  const group = closing(reading, name, indent);
  const message = directive ?? '';
  push(reading, { name, indent, outcome, seconds, message, group });
}

/** Opens a group; before Node 22 its end had the same sign, and no outcome of its own. */
function takeGroup(reading: Reading, name: string, indent: number, seconds: number | null): void {
  const group = seconds === null ? null : closing(reading, name, indent);
  if (group !== null)
    return push(reading, { name, indent, outcome: group.failed ? 'Failed' : 'Passed', seconds: seconds ?? 0, message: '', group });
  leave(reading, indent);
  reading.open.push({ name, indent, children: 0, failed: false });
}

function closing(reading: Reading, name: string, indent: number): Open | null {
  leave(reading, indent + 1);
  const top = reading.open.at(-1);
  if (top === undefined || top.indent !== indent) return null;
  reading.open.pop();
  return top.name === name ? top : null;
}

/** Forgets groups that are at least as deep: they were never closed. */
function leave(reading: Reading, indent: number): void {
  while ((reading.open.at(-1)?.indent ?? -1) >= indent) reading.open.pop();
}

interface Point {
  readonly name: string;
  readonly indent: number;
  readonly outcome: Outcome;
  readonly seconds: number;
  readonly message: string;
  readonly group: Open | null;
}

function push({ found, open }: Reading, { name, outcome, seconds, message, group }: Point): void {
  const parent = open.at(-1);
  if (parent !== undefined) {
    parent.children += 1;
    parent.failed ||= outcome === 'Failed';
  }
  const id = [...open.map((above) => above.name), name].join(' > ');
  found.push({ id, outcome, seconds, message, kind: group !== null && group.children > 0 ? 'Group' : 'Test' });
}

/** `name (1.5ms) # SKIP`: the last duration counts, names may hold brackets. */
function parts(text: string): { readonly name: string; readonly seconds: number | null; readonly directive: string | null } {
  const end = text.lastIndexOf('ms)');
  const start = end === -1 ? -1 : text.lastIndexOf(' (', end);
  const digits = start === -1 ? '' : text.slice(start + 2, end);
  const after = end === -1 ? '' : text.slice(end + 3);
  if (!/^\d+(?:\.\d+)?(?:e-\d+)?$/.test(digits) || (after !== '' && !after.startsWith(' # ')))
    return { name: text, seconds: null, directive: null };
  return { name: text.slice(0, start), seconds: Number(digits) / 1000, directive: after === '' ? null : after.slice(3) };
}
