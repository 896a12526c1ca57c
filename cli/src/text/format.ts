import { printable, printableLines } from '@agentfleet/protocol/text';
import { styleText } from 'node:util';

export const formats = ['wide', 'json', 'yaml'] as const;
/** Format in which objects are printed; absent: as a table. */
export type Format = (typeof formats)[number];

/** An object as JSON or YAML: what a program reads, so nothing is made safe for a terminal but by the escapes of the format. */
export async function objectLines(value: unknown, format: 'json' | 'yaml'): Promise<readonly string[]> {
  if (format === 'json') return JSON.stringify(value, null, 2).split('\n');
  const { dump } = await import('js-yaml');
  // Through JSON, because what is undefined has no YAML.
  return dump(JSON.parse(JSON.stringify(value)), { lineWidth: -1, noRefs: true })
    .trimEnd()
    .split('\n');
}

/** Destination of colours: a terminal only, and not where the environment has NO_COLOR. */
export interface Paintable {
  readonly terminal: boolean;
  readonly env: NodeJS.ProcessEnv;
}

export function paint({ terminal, env }: Paintable, color: 'green' | 'yellow' | 'red' | 'bold', text: string): string {
  return terminal && !env['NO_COLOR'] ? styleText(color, text, { validateStream: false }) : text;
}

/** A number of things, with the word for them. */
export const plural = (count: number, one: string): string => `${count} ${count === 1 ? one : `${one.replace(/y$/, 'ie')}s`}`;

/**
 * A message of several lines behind the words before it: its first line there, the others below behind a bar, so that
 * none of them can be taken for a line of ours. Pure.
 */
export function quoted(before: string, message: string): readonly string[] {
  const [first = '', ...rest] = printableLines(message).filter((line) => line.trim() !== '');
  return [`${before}${first}`, ...rest.map((line) => `  | ${line}`)];
}

/** The first line of a message, where there is room for one; dots where more lines follow. Pure. */
export function firstLine(message: string): string {
  const [first = '', ...rest] = message.split('\n').filter((line) => line.trim() !== '');
  return `${printable(first)}${rest.length === 0 ? '' : ' …'}`;
}

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Below which age which units are shown, as kubectl does: the older, the coarser. */
const steps: readonly (readonly [below: number, shown: readonly (keyof typeof units)[]])[] = [
  [2 * units.m, ['s']],
  [10 * units.m, ['m', 's']],
  [3 * units.h, ['m']],
  [8 * units.h, ['h', 'm']],
  [2 * units.d, ['h']],
  [8 * units.d, ['d', 'h']],
];

/** A length of time in ms, short: `45s`, `2m30s`, `3d4h`. Negative ones are `0s`: clocks differ. */
export function duration(ms: number): string {
  let left = Math.max(0, Math.floor(ms / units.s) * units.s);
  const [, shown] = steps.find(([below]) => left < below) ?? [Infinity, ['d'] as const];
  const parts = shown.map((unit) => {
    const count = Math.floor(left / units[unit]);
    left -= count * units[unit];
    return count > 0 ? `${count}${unit}` : '';
  });
  return parts.join('') || '0s';
}

/** Returns the age of a timestamp; `-` when there is none. */
export function ageOf(time: string | undefined, now: number): string {
  return time === undefined ? '-' : duration(now - Date.parse(time));
}

/** Lines of a table: columns as wide as their longest cell, three blanks apart. Cells are made safe for a terminal. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [head, ...rows.map((row) => row.map(printable))];
  const widths = head.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)));
  const pad = (cell: string, width: number): string => cell.padEnd(width);
  return all.map((row) =>
    row
      .map((cell, at) => pad(cell, widths[at] ?? 0))
      .join('   ')
      .trimEnd(),
  );
}
