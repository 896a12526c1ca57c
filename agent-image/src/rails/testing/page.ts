import { rails } from '../rail/index.ts';
import { profiles, severities } from '../verdict/types.ts';
import { decisionTable } from '../rails.ts';

/** The text of README.md, from the tables that decide; a test compares them. */
export function railsPage(): string {
  const shown = severities.filter((one) => one !== 'Notice').reverse();
  const lines = [
    '# rails',
    '',
    'Gate 1: `createRails({ grammars }).judge(act, policy)` reports from the text of an act what it would run, read',
    'and write, and decides. Pure and deterministic: no clock, no file, no network; only the grammars are loaded',
    'beforehand (`loadGrammars`). Every simple command of a line is judged, also inside substitutions, functions,',
    'wrappers (`sh -c`, `xargs`, `find -exec`, …), here-documents and one-liners of other languages. What only the',
    'run would tell is never allowed in silence where it matters. This file is made by `railsPage()`.',
    '',
    'The strictest finding decides:',
    '',
    ...table([
      ['Severity', ...profiles],
      ...shown.map((severity) => [severity, ...profiles.map((profile) => decisionTable[severity][profile])]),
    ]),
    '',
    ...table([
      ['Rail', 'Worst', 'Finds'],
      ...rails.map((rail) => [`\`${rail.id}\``, rail.severity, rail.title]),
      [
        '`assertion-override`',
        'Unknown',
        'comparison, truth or type checks that a change overrides, and that can answer as an assertion wants',
      ],
    ]),
    '',
    '`overrides/` looks at what a change of a source file adds (`judgeChange`).',
    '`syntax/` holds the parsers, `shell/` walks a command line to simple commands and turns calls of other languages',
    'into such commands, `rail/` judges them. `node agent-image/src/rails/rails.bench.ts` measures.',
    '',
  ];
  return lines.join('\n');
}

/** Cells padded as the formatter does it. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)];
}
