import { printable } from './printable.ts';

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
