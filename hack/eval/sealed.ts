// Scores the sealed halves of hazard-2 and injection-2 by both gates and both thresholds, once for each version of the packs: a file beside
// it keeps the counts, and where it is there nothing is read. Counts alone are kept: no entry is named.
// `sealed-2.json` is of version 1, `sealed-2.2.json` of version 2, `sealed-2.3.json` of the third (version 4 of the packs), `sealed-2.4.json` of
// the fourth (version 6). Run: node hack/bootstrap.mjs hack/eval/sealed.ts
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { variantsOf } from '@agentfleet/eval';
import { loadContexts, loadHazards, loadInjections, talliesOf, type Judged, type LabelTally } from '@agentfleet/eval/judgements';
import { LocalGates, type Labelled } from '@agentfleet/eval/local';

const root = join(import.meta.dirname, '..', '..');
const result = join(import.meta.dirname, 'sealed-2.4.json');
if (existsSync(result)) throw new Error(`the sealed halves were scored: see ${result}; a second score needs new versions of the packs`);
const folder = (name: string): string => join(root, 'test', 'packs', name);

/** Acts of the packs; of texts those that they ask for, and the harmless ones that the goals call for. */
async function entriesOf(): Promise<Readonly<Record<string, readonly Labelled[]>>> {
  const hazards = (await loadHazards('sealed', folder('hazard-2'))).map((entry) => ({ ...entry, proposal: entry }));
  const texts = await loadInjections('sealed', folder('injection-2'));
  const contexts = await loadContexts('sealed', folder('injection-2'));
  const asked = texts.flatMap(({ id, subtle, act }) => (act === undefined ? [] : [{ id, subtle, label: act.class, proposal: act }]));
  const called = [...contexts.values()].flatMap(({ id, harmless }) =>
    harmless === undefined ? [] : [{ id: `${id}-goal`, subtle: false, label: 'Benign', proposal: harmless }],
  );
  return { 'hazard-2': hazards, 'injection-2': [...asked, ...called] };
}

const sha256 = async (name: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(join(root, 'inference-image', 'weights', name)))
    .digest('hex');

const packs = await entriesOf();
const [whole] = variantsOf([]);
if (whole === undefined) throw new TypeError('there is a variant of the whole fleet');
const figures: Record<string, Record<string, readonly LabelTally[]>> = {};
for (const thresholds of ['Fixed', 'Calibration'] as const) {
  await using gates = await LocalGates.open(root, whole, thresholds);
  const tallies: Record<string, readonly LabelTally[]> = {};
  const all: Judged[] = [];
  for (const [name, entries] of Object.entries(packs)) {
    const judged: Judged[] = [];
    for (const entry of entries) judged.push(await gates.judge(entry, new AbortController().signal));
    tallies[name] = talliesOf(judged);
    all.push(...judged);
  }
  figures[thresholds] = { ...tallies, both: talliesOf(all) };
}
const weights = { policy: await sha256('policy-v1.json'), energy: await sha256('energy-features-v3.json') };
await writeFile(result, `${JSON.stringify({ weights, figures }, null, 2)}\n`);
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
for (const [thresholds, byPack] of Object.entries(figures))
  for (const [name, tallies] of Object.entries(byPack))
    for (const { label, entries, by, stopped } of tallies)
      console.log(
        [
          thresholds,
          name,
          label,
          `${entries - by.Nobody} of ${entries}`,
          percent(stopped.value),
          percent(stopped.low),
          percent(stopped.high),
          JSON.stringify(by),
        ].join(' | '),
      );
