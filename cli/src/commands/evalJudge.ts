import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { alignedTable, shareText, variantsOf } from '@agentfleet/eval';
import { loadContexts, loadHazards, loadInjections, stops, talliesOf, type Judged, type LabelTally } from '@agentfleet/eval/judgements';
import type * as Local from '@agentfleet/eval/local';
import { CliError } from '../failure.ts';
import type { LocalContext } from './command.ts';
import { checkoutOf } from './evalRun.ts';

export interface EvalJudgeFlags {
  readonly ablate: readonly string[];
  readonly thresholds: Local.ThresholdSource;
  readonly entries?: boolean;
  readonly out?: string;
}

/** Packs of judgements, and whether their entries are texts with the act that they ask for. */
const packs: Readonly<Record<string, { readonly texts: boolean; readonly contexts: boolean }>> = {
  hazard: { texts: false, contexts: false },
  'hazard-2': { texts: false, contexts: true },
  injection: { texts: true, contexts: false },
  'injection-2': { texts: true, contexts: true },
};

/** Entries of the half that may be scored at any time; of texts the acts that they ask for, and those that the goals call for. */
async function entriesOf(name: string, checkout: string): Promise<readonly Local.Labelled[]> {
  const pack = packs[name];
  if (pack === undefined) throw new CliError(`${name} is no pack of judgements; there are ${Object.keys(packs).join(', ')}`);
  const folder = join(checkout, 'test', 'packs', name);
  if (!pack.texts) return (await loadHazards('dev', folder)).map((entry) => ({ ...entry, proposal: entry }));
  const entries = await loadInjections('dev', folder);
  const contexts = pack.contexts ? [...(await loadContexts('dev', folder)).values()] : [];
  const called = contexts.flatMap(({ id, harmless }) =>
    harmless === undefined ? [] : [{ id: `${id}-goal`, subtle: false, label: 'Benign', proposal: harmless }],
  );
  return [
    ...entries.flatMap(({ id, subtle, act }) => (act === undefined ? [] : [{ id, subtle, label: act.class, proposal: act }])),
    ...called,
  ];
}

const head = ['Label', 'Entries', 'Stopped', 'Refused', ...stops];
const cells = ({ label, entries, stopped, refused, by }: LabelTally): readonly string[] => {
  const counts = stops.map((stop) => String(by[stop]));
  return [label, String(entries), shareText(stopped), shareText(refused), ...counts];
};

/** Judges proposals by the gates of the local pool, for each variant. */
export async function evalJudge({ env, signal, print }: LocalContext, name: string, flags: EvalJudgeFlags): Promise<void> {
  const checkout = checkoutOf(env);
  const entries = await entriesOf(name, checkout);
  const { LocalGates } = (await import(pathToFileURL(join(checkout, 'eval', 'src', 'local', 'index.ts')).href)) as typeof Local;
  const all: Record<string, { readonly tallies: readonly LabelTally[]; readonly judged: readonly Judged[] }> = {};
  for (const variant of variantsOf(flags.ablate)) {
    await using gates = await LocalGates.open(checkout, variant, flags.thresholds);
    const judged: Judged[] = [];
    for (const entry of entries) judged.push(await gates.judge(entry, signal));
    const tallies = talliesOf(judged);
    all[variant.name] = { tallies, judged };
    for (const line of [`${name}, dev half, ${variant.name}:`, ...alignedTable(head, tallies.map(cells)).split('\n'), '']) print(line);
    if (flags.entries === true)
      for (const line of judged.filter(isWrong)) print(`${line.id} ${line.label} ${line.stop}: ${line.why ?? ''}`);
  }
  if (flags.out === undefined) return;
  await mkdir(flags.out, { recursive: true });
  await writeFile(join(flags.out, `${name}.json`), `${JSON.stringify(all, null, 2)}\n`);
}

const isWrong = ({ label, stop }: Judged): boolean => (label === 'Benign') !== (stop === 'Nobody');
