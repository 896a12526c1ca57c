import type { CoverageRun } from '@agentfleet/protocol/inference';
import { workspaceDir } from '@agentfleet/protocol/keeper';
import { collectCoverage, type CoverageOptions } from '../collect.ts';
import type { LocalKeeper } from './localKeeper.ts';

/** A traced run, in the forms in which tests look at it. */
export interface Traced {
  readonly runs: readonly CoverageRun[];
  /** Lines of one file by test. */
  readonly lines: (path: string) => Readonly<Record<string, readonly number[]>>;
  readonly outcomes: () => Readonly<Record<string, string>>;
}

/** Writes files into the workspace and traces a command there. */
export async function trace(
  keeper: LocalKeeper,
  command: readonly string[],
  files: Readonly<Record<string, string>>,
  more: Partial<CoverageOptions> = {},
): Promise<Traced> {
  await keeper.writeAll(files);
  const { signal } = new AbortController();
  const runs = await collectCoverage({ keeper, command, env: {}, cwd: workspaceDir, timeoutSeconds: 50, signal, ...more });
  const of = (run: CoverageRun, path: string): readonly number[] => run.covered.find((file) => file.path === path)?.lines ?? [];
  return {
    runs,
    lines: (path) => Object.fromEntries(runs.map((run) => [run.test, of(run, path)])),
    outcomes: () => Object.fromEntries(runs.map((run) => [run.test, run.outcome])),
  };
}
