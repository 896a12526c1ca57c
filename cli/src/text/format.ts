import { printable } from '@agentfleet/protocol/text';
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

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** From which age on which parts are shown, as kubectl does: the older, the coarser. */
const steps: readonly { readonly below: number; readonly parts: readonly (readonly [number, string])[] }[] = [
  { below: 2 * minute, parts: [[second, 's']] },
  {
    below: 10 * minute,
    parts: [
      [minute, 'm'],
      [second, 's'],
    ],
  },
  { below: 3 * hour, parts: [[minute, 'm']] },
  {
    below: 8 * hour,
    parts: [
      [hour, 'h'],
      [minute, 'm'],
    ],
  },
  { below: 2 * day, parts: [[hour, 'h']] },
  {
    below: 8 * day,
    parts: [
      [day, 'd'],
      [hour, 'h'],
    ],
  },
  { below: Infinity, parts: [[day, 'd']] },
];

/** A length of time in ms, short: `45s`, `2m30s`, `3d4h`. Negative ones are `0s`: clocks differ. */
export function duration(ms: number): string {
  const rest = Math.max(0, Math.floor(ms / second) * second);
  const { parts } = steps.find(({ below }) => rest < below) ?? { parts: [[day, 'd']] as const };
  let left = rest;
  const shown: string[] = [];
  for (const [unit, letter] of parts) {
    const count = Math.floor(left / unit);
    left -= count * unit;
    if (count > 0) shown.push(`${count}${letter}`);
  }
  return shown.length === 0 ? '0s' : shown.join('');
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
