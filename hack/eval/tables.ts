/** Tables of a document that a program writes: each between two marks that name it. */
import { comparisonCells, comparisonHead, flakeText, groupCells, groupHead, markdownTable, shareText } from '@agentfleet/eval';
import { stops } from '@agentfleet/eval/judgements';
import type { Measured, Result, Tallies } from './measured.ts';

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
