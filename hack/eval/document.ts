// hack, eval: tables of measurements in docs/benchmarks.md. May import any package.
import { format, resolveConfig } from 'prettier';
import { stepsOf, type EvalStep } from './plan.ts';
import {
  comparisonCells,
  comparisonHead,
  flakeText,
  groupCells,
  groupHead,
  markdownTable,
  shareText,
  readResults,
  reportOf,
  type EvalReport,
} from '@agentfleet/eval';
import { stops, type LabelTally } from '@agentfleet/eval/judgements';
import type { Played, Verified } from '../../cli/src/commands/index.ts';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Tables of a document that a program writes: each between two marks that name it. */

const begin = (name: string): string => `<!-- table: ${name} -->`;
const end = '<!-- end -->';

/** The document with the table of that name replaced. @throws Error when the document has no place for it */
export function withTable(document: string, name: string, table: string): string {
  const from = document.indexOf(begin(name));
  const to = document.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`the document has no "${begin(name)}" and "${end}"; add both where the table belongs`);
  return `${document.slice(0, from + begin(name).length)}\n\n${table.trim()}\n\n${document.slice(to)}`;
}

type Of<K extends Result['kind']> = Extract<Result, { readonly kind: K }>;
const those = <K extends Result['kind']>(results: readonly Result[], kind: K): readonly Of<K>[] =>
  results.filter((result): result is Of<K> => result.kind === kind);

function runTables(runs: readonly Of<'run'>[]): readonly string[] {
  const comparisons = runs.flatMap((run) => run.comparisons);
  const compared = comparisons.length === 0 ? [] : [markdownTable(comparisonHead, comparisons.map(comparisonCells))];
  const repeated = runs.filter(({ flakes }) => flakes.pairs > 0).map(({ flakes }) => flakeText(flakes));
  const groups = runs.flatMap((run) => run.groups.map(groupCells));
  return [markdownTable(groupHead, groups), ...compared, ...repeated];
}

function judgeRows(tallies: Tallies): readonly (readonly string[])[] {
  return Object.entries(tallies).flatMap(([variant, some]) =>
    some.map(({ label, entries, stopped, refused, by }) => {
      const counts = stops.map((stop) => String(by[stop]));
      return [variant, label, String(entries), shareText(stopped), shareText(refused), ...counts];
    }),
  );
}

const verifyRow = ({ verified: { pack, version, tasks, oracles, noOps, refused } }: Of<'verify'>): readonly string[] => [
  pack,
  version,
  String(tasks),
  String(oracles),
  String(noOps),
  String(refused.length),
];

const playedRow = ({
  name,
  says,
  tried,
  decided,
  outcome,
  hidden,
  rolledBack,
  faults,
}: Of<'scenarios'>['played'][number]): readonly string[] => [
  name,
  says,
  tried.join(', '),
  decided.join(', ') || '–',
  outcome,
  hidden,
  rolledBack ? 'yes' : '–',
  faults.length === 0 ? 'yes' : 'no',
];

/** A table and the commands that measured it. Pure: the same numbers give the same words. */
export function tableOf(measured: readonly Measured[]): string {
  const results = measured.map(({ result }) => result);
  const [runs, judged] = [those(results, 'run'), those(results, 'judge')];
  const [verified, played] = [those(results, 'verify'), those(results, 'scenarios').flatMap((one) => one.played)];
  const parts = [
    ...(runs.length === 0 ? [] : runTables(runs)),
    ...judged.map(({ tallies }) => markdownTable(['Variant', 'Label', 'Entries', 'Stopped', 'Refused', ...stops], judgeRows(tallies))),
    ...(verified.length === 0
      ? []
      : [markdownTable(['Pack', 'Version', 'Tasks', 'Oracle passes', 'No-op passes', 'Refused'], verified.map(verifyRow))]),
    ...(played.length === 0
      ? []
      : [
          markdownTable(
            ['Scenario', 'Asked for', 'Candidates', 'People', 'Outcome', 'Hidden check', 'Taken back', 'As expected'],
            played.map(playedRow),
          ),
        ]),
  ];
  return [measured.map(({ argv }) => `\`fleet ${argv.join(' ')}\``).join('\\\n'), ...parts].join('\n\n');
}

/**
 * Numbers of a step for the tables of docs/benchmarks.md; kept in the repository, so that the tables can be checked
 * against them.
 */

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

/** Steps by table; one that is in both plans counts once. */
export function stepsByTable(): ReadonlyMap<string, readonly EvalStep[]> {
  const steps = new Map([...stepsOf(false), ...stepsOf(true)].map((step) => [step.name, step]));
  const tables = Map.groupBy(steps.values(), ({ table }) => table ?? '');
  tables.delete('');
  return tables;
}

/** Returns the document with the tables of all measurements, formatted like the repository. */
export async function rewritten(document: string, file: string): Promise<string> {
  let text = document;
  for (const [table, steps] of stepsByTable()) {
    const measured = (await Promise.all(steps.map(measuredOf))).filter((one): one is Measured => one !== undefined);
    if (measured.length > 0) text = withTable(text, table, tableOf(measured));
  }
  return format(text, { ...(await resolveConfig(file)), filepath: file });
}
