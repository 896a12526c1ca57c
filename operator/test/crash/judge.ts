import { asError } from '@agentfleet/kube';
import { run, type Plan, type Result } from './run.ts';
import type { Scenario } from './scenario.ts';

/** Writes and reconciles that a disturbance may cost beside those of an undisturbed run. */
export interface Allowance {
  readonly writes: number;
  readonly reconciles: number;
}

/** Returns the allowance for crashes: a new life repeats acts that it cannot know of; with pools, it applies what each consists of once. */
export function afterCrashes({ controllerSet }: Scenario, crashes: number): Allowance {
  return { writes: crashes * (controllerSet === 'all' ? 24 : 6), reconciles: crashes * 60 };
}

/** Runs a scenario with what goes wrong, and compares it with the run in which nothing did. Returns what is wrong, in words. */
export async function judge(scenario: Scenario, plan: Plan, golden: Result, allowance: Allowance): Promise<readonly string[]> {
  let result: Result;
  try {
    result = await run(scenario, plan);
  } catch (error) {
    return [asError(error).message];
  }
  const faults = [...result.faults, ...difference(golden.state, result.state)];
  if (result.writes.length > golden.writes.length + allowance.writes)
    faults.push(`${result.writes.length} writes instead of ${golden.writes.length}: ${reported(result)}`);
  if (result.reconciles > 2 * golden.reconciles + allowance.reconciles)
    faults.push(`${result.reconciles} reconciles instead of ${golden.reconciles}`);
  return faults;
}

function reported({ writes }: Result): string {
  return writes.map(({ method, path }) => `${method} ${path.split('/').slice(-3).join('/')}`).join('; ');
}

/** Objects that are in one of two states only. */
function difference(golden: readonly string[], state: readonly string[]): readonly string[] {
  const [wanted, found] = [new Set(golden), new Set(state)];
  const missing = golden.filter((line) => !found.has(line));
  const more = state.filter((line) => !wanted.has(line));
  if (missing.length === 0 && more.length === 0 && golden.length === state.length) return [];
  return [
    `another state at the end, ${state.length} objects instead of ${golden.length}`,
    ...missing.map((line, i) => {
      const other = more[i] ?? '';
      const at = line.split('').findIndex((character, j) => character !== other[j]);
      return `  without a fault: …${line.slice(Math.max(0, at - 200), at + 120)}\n  now:             …${other.slice(Math.max(0, at - 200), at + 120)}`;
    }),
    ...more.slice(missing.length).map((line) => `  more: ${line.slice(0, 200)}`),
  ];
}
