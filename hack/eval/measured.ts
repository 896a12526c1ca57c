/**
 * Numbers of a step for the tables of docs/benchmarks.md; kept in the repository, so that the tables can be checked
 * against them.
 */
import type { Played, Verified } from '../../cli/src/commands/index.ts';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readResults, reportOf, type EvalReport } from '@agentfleet/eval';
import { format, resolveConfig } from 'prettier';
import type { LabelTally } from '@agentfleet/eval/judgements';
import type { EvalStep } from './plan.ts';

export type Tallies = Readonly<Record<string, readonly LabelTally[]>>;

/** Numbers of a step by its kind. */
export type Result =
  | ({ readonly kind: 'run' } & Pick<EvalReport, 'groups' | 'comparisons' | 'flakes'>)
  | { readonly kind: 'judge'; readonly tallies: Tallies }
  | { readonly kind: 'verify'; readonly verified: Verified }
  | { readonly kind: 'scenarios'; readonly played: readonly Played[] };

export interface Measured {
  /** The command that measured it; another command measures something else. */
  readonly argv: readonly string[];
  readonly result: Result;
}

const folder = join(import.meta.dirname, 'measured');
const fileOf = ({ name }: EvalStep): string => join(folder, `${name}.json`);
/** Unknown values are NaN here, for which JSON has null. */
const json = async <T>(file: string): Promise<T> =>
  JSON.parse(await readFile(file, 'utf8'), (_, value: unknown) => value ?? Number.NaN) as T;

/** Numbers of a step out of the folder that it wrote. */
export async function resultOf({ kind, name }: EvalStep, out: string): Promise<Result> {
  if (kind === 'verify') return { kind, verified: await json<Verified>(join(out, 'verify.json')) };
  if (kind === 'scenarios') return { kind, played: await json<readonly Played[]>(join(out, 'scenarios.json')) };
  if (kind === 'judge') {
    const all = await json<Readonly<Record<string, { readonly tallies: readonly LabelTally[] }>>>(join(out, `${name}.json`));
    return { kind, tallies: Object.fromEntries(Object.entries(all).map(([variant, { tallies }]) => [variant, tallies])) };
  }
  const { head, records } = await readResults(out);
  const { groups, comparisons, flakes } = reportOf(head, records);
  return { kind, groups, comparisons, flakes };
}

export async function keepMeasured(step: EvalStep, result: Result): Promise<void> {
  await mkdir(folder, { recursive: true });
  const text = JSON.stringify({ argv: step.argv, result } satisfies Measured);
  const file = fileOf(step);
  await writeFile(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
}

/** Undefined: never measured. */
export async function measuredOf(step: EvalStep): Promise<Measured | undefined> {
  return json<Measured>(fileOf(step)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
