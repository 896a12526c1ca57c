import { quantile } from '@agentfleet/eval/stats';
import { figuresOf, quickest, type PeerRecord } from './record.ts';
import { scripts } from './scripts.ts';

const rowOf = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
const ms = (value: number): string => (Number.isNaN(value) ? '–' : value.toFixed(value < 10 ? 1 : 0));

type Steps = readonly Pick<PeerRecord, 'besideMs' | 'promptBytes'>[];

function cellsOf(all: Steps, best: Steps): readonly (string | number)[] {
  const [every, least] = [figuresOf(all), figuresOf(best)];
  return [every.steps, ms(every.p50Ms), ms(every.p99Ms), ms(least.p50Ms), ms(least.p99Ms)];
}

/** Steps of a kind, of records that follow a script. */
function ofKind(records: readonly PeerRecord[], kind: string): Steps {
  return records.map(({ task, besideMs }) => {
    const steps = scripts.get(task)?.steps ?? [];
    return { besideMs: besideMs.filter((_, at) => steps[at]?.kind === kind), promptBytes: [] };
  });
}

const heads = ['Agent', 'Step', 'Steps', 'p50, ms', 'p99, ms', 'p50 of the quickest', 'p99 of the quickest', 'Prompt tokens', 'Solved'];

/** Returns the figures of each agent as Markdown: all steps, then by kind of step. */
export function tableOf(records: readonly PeerRecord[]): string {
  const lines = [rowOf(heads), rowOf(heads.map(() => '---'))];
  for (const [name, own] of Map.groupBy(records, ({ agent, version }) => `${agent} ${version}`)) {
    const best = quickest(own);
    const solved = own.filter((one) => one.solved).length;
    lines.push(rowOf([name, 'all', ...cellsOf(own, best), Math.round(figuresOf(own).promptTokens), `${solved} of ${own.length}`]));
    for (const kind of ['look', 'read', 'edit', 'command', 'check'])
      lines.push(rowOf([name, kind, ...cellsOf(ofKind(own, kind), ofKind(best, kind)), '', '']));
  }
  return lines.join('\n');
}

/** Returns what the steps of our loop wait for, most first, as Markdown: requests a step, their times, and milliseconds a step. */
export function causesOf(records: readonly PeerRecord[]): string {
  const traced = records.filter(({ requests }) => requests !== undefined);
  const steps = traced.flatMap(({ besideMs }) => besideMs);
  const all = traced.flatMap(({ requests = [] }) => requests);
  const whole = steps.reduce((sum, one) => sum + one, 0);
  const asked = all.reduce((sum, { ms }) => sum + ms, 0);
  const own: readonly (string | number)[] = ['this process itself', '', '', '', ((whole - asked) / steps.length).toFixed(1)];
  const rows = [...Map.groupBy(all, ({ what }) => what)].map(([what, requests]) => {
    const times = requests.map(({ ms }) => ms);
    const each = times.reduce((sum, one) => sum + one, 0) / steps.length;
    return {
      each,
      cells: [what, (times.length / steps.length).toFixed(2), ms(quantile(times, 0.5)), ms(quantile(times, 0.99)), each.toFixed(1)],
    };
  });
  const head = [rowOf(['Waits for', 'A step', 'p50, ms', 'p99, ms', 'ms a step']), rowOf(Array.from({ length: 5 }, () => '---'))];
  return [...head, ...rows.sort((a, b) => b.each - a.each).map(({ cells }) => rowOf(cells)), rowOf(own)].join('\n');
}
