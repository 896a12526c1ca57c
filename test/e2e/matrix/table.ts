// test, e2e/matrix: Markdown table of the results of a kill matrix. May import any package.
import type { Played } from './play.ts';

/** The dated table of a whole matrix, in Markdown. Pure. */
export function matrixTable(day: string, played: readonly Played[]): string {
  const rows = played.map(({ cell, faults, end, seconds }) => {
    const verdict = faults.length === 0 ? 'as without the death' : faults.join('; ');
    return `| ${cell.victim.name} | ${cell.phase.name} | ${end} | ${seconds.toFixed(1)} | ${verdict} |`;
  });
  const good = played.filter(({ faults }) => faults.length === 0).length;
  return [
    `# Who may die when, ${day}`,
    '',
    `Each part killed without a word in each phase of a task; ${good} of ${played.length} cells ended as if nothing had been killed:`,
    'the same outcome, nothing charged, one sandbox at a time, epochs that only grow, no sandbox left.',
    'In brackets the attempts; Infrastructure is not charged. Seconds from the death to the end.',
    'RollingBack lasts a moment, so that a death there may come when the restore is done already.',
    '',
    '| Killed | While | Ended | Seconds | Verdict |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
