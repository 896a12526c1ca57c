// hack, mutants: planted bugs in the table of test/mutants.md. May import any package.
import { readFileSync } from 'node:fs';
import type { PlantedBug } from './plant.ts';

const cell = /^`(.*)`$/;

/** @throws Error that quotes a row which is not `| promise | \`symbol\` in \`folder\` | \`first: …\` or \`without: …\` | \`test\` |` */
function bugOf(row: string): PlantedBug {
  const [promise = '', where = '', bug = '', test = ''] = row
    .split('|')
    .slice(1, -1)
    .map((one) => one.trim());
  const [, symbol, folder] = /^`([\w.#]+)` in `([\w/-]+)`$/.exec(where) ?? [];
  const [, kind, text] = /^(first|without): (.+)$/.exec(cell.exec(bug)?.[1] ?? '') ?? [];
  const run = cell.exec(test)?.[1]?.replaceAll(',', '|');
  if (symbol === undefined || folder === undefined || text === undefined || run === undefined)
    throw new Error(`not a row of planted bugs: ${row}`);
  return { promise, folder, symbol, bug: kind === 'first' ? { first: text } : { without: text }, test: run };
}

/** The rows of test/mutants.md. */
export function plantedBugs(root: string): readonly PlantedBug[] {
  const lines = readFileSync(`${root}test/mutants.md`, 'utf8').split('\n');
  return lines.filter((line) => /^\| (?!Promise)/.test(line)).map(bugOf);
}
