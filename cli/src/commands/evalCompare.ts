import {
  alignedTable,
  compareRecords,
  comparisonCells,
  comparisonHead,
  groupCells,
  groupHead,
  groupsOf,
  readResults,
  terminalReport,
  writeReports,
  type EvalRecord,
} from '@agentfleet/eval';
import { CliError } from '../base/failure.ts';
import type { LocalContext } from './command.ts';
import { refuseFlakes } from './evalRun.ts';

/** A folder, or FOLDER:VARIANT. */
async function recordsOf(
  place: string,
): Promise<{ name: string; records: readonly EvalRecord[]; packs: Readonly<Record<string, string>> }> {
  const [, folder = place, variant] = /^(.+):([^:/]+)$/.exec(place) ?? [];
  const { head, records } = await readResults(folder);
  const chosen = variant ?? Object.keys(head.variants)[0] ?? '';
  if (!(chosen in head.variants))
    throw new CliError(
      `${folder} has no variant ${chosen}; it has ${Object.keys(head.variants).join(', ')}: name one as ${folder}:VARIANT`,
    );
  return { name: place, records: records.filter((record) => record.variant === chosen), packs: head.packs };
}

/** Compares two sets of results task by task. */
export async function evalCompare({ print }: Pick<LocalContext, 'print'>, one: string, other: string): Promise<void> {
  const [first, second] = [await recordsOf(one), await recordsOf(other)];
  for (const [pack, digest] of Object.entries(first.packs))
    if (second.packs[pack] !== undefined && second.packs[pack] !== digest)
      throw new CliError(
        `pack ${pack} was changed between ${one} and ${other}, so that their tasks are not the same; run one of them anew`,
      );
  const comparison = compareRecords(first.records, second.records, [first.name, second.name]);
  if (comparison.pairs === 0) throw new CliError(`${one} and ${other} have no task with the same seed in common; run both with one --seed`);
  const groups = [...groupsOf(first.records), ...groupsOf(second.records)];
  for (const line of alignedTable(groupHead, groups.map(groupCells)).split('\n')) print(line);
  print('');
  for (const line of alignedTable(comparisonHead, [comparisonCells(comparison)]).split('\n')) print(line);
}

/** Writes the reports of results again and prints them. */
export async function evalReport({ print }: Pick<LocalContext, 'print'>, folder: string): Promise<void> {
  const { head, records } = await readResults(folder);
  const { groups, comparisons, flakes } = await writeReports(folder, head, records);
  for (const line of terminalReport(groups, comparisons, flakes).split('\n')) print(line);
  refuseFlakes(flakes);
}
