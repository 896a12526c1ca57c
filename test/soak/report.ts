// test, soak: Markdown report of a soak run. May import any package.
import { execFileSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import type { Outcome, PartMemory } from './run.ts';

interface Ran extends Outcome {
  readonly tasks: number;
  readonly seed: number;
  readonly everyMs: number;
  readonly workers: number;
  readonly concurrency: number;
}

/** Most sentences of one kind that a report repeats. */
const shown = 20;

/** Returns the report of a soak, in Markdown. */
export function report(ran: Ran): string {
  const { tasks, submitted, seed, everyMs, workers, concurrency, seconds, verdict, deaths, memory, passed } = ran;
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const { succeeded, failed, cancelled, lost, twice, wrong, orphans } = verdict;
  const died = [...deaths].map(([victim, count]) => `${victim} ${count}`).join(', ');
  const command = `npm run soak -- --tasks ${tasks} --seed ${seed} --every ${everyMs / 1000} --workers ${workers} --concurrency ${concurrency}`;
  return [
    `# A soak of ${submitted} tasks, ${new Date().toISOString().slice(0, 10)}`,
    '',
    `\`${command}\`; commit ${commit}; ${cpus().length} cores, load average ${(loadavg()[0] ?? 0).toFixed(1)} at the end; ${passed ? 'passed' : 'FAILED'}.`,
    '',
    '| What | |',
    '| --- | --- |',
    `| submitted | ${submitted} |`,
    `| succeeded + failed and rolled back + cancelled | ${succeeded} + ${failed} + ${cancelled} = ${succeeded + failed + cancelled} |`,
    `| lost | ${lost.length} |`,
    `| done twice | ${twice.length} |`,
    `| ends, histories or logs that break a promise | ${wrong.length} |`,
    `| orphans | ${orphans.length} |`,
    `| killed by SIGKILL | ${died === '' ? 'nobody' : died} |`,
    `| time | ${(seconds / 60).toFixed(1)} min, ${(seconds / submitted).toFixed(2)} s a task |`,
    '',
    '| Memory, second half | Mean, MiB | Slope, MiB an hour (95 %) | Minutes, lives | |',
    '| --- | --- | --- | --- | --- |',
    ...memory.map(memoryRow),
    '',
    ...[lost, twice, wrong, orphans].flatMap((all) => all.slice(0, shown).map((line) => `- ${line}`)),
    '',
  ].join('\n');
}

function memoryRow({ part, slope, verdict }: PartMemory): string {
  if (slope === undefined) return `| ${part} | – | no process lived long enough | – | ${verdict} |`;
  const { meanMiB, perHour, margin, points, lives } = slope;
  return `| ${part} | ${meanMiB.toFixed(0)} | ${perHour.toFixed(1)} ± ${margin.toFixed(1)} | ${points}, ${lives} | ${verdict} |`;
}
