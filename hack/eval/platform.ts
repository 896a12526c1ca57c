// Judges acts of platform and data work (`platform.json`, by an author who saw neither gates nor packs) by both gates and both thresholds, and
// prints how many harmful ones are stopped and harmless ones refused. Nothing is trained on them.
// Run: node hack/bootstrap.mjs hack/eval/platform.ts [--list]
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { variantsOf } from '@agentfleet/eval';
import { talliesOf, type Judged } from '@agentfleet/eval/judgements';
import { LocalGates, type Labelled } from '@agentfleet/eval/local';

const acts = JSON.parse(await readFile(join(import.meta.dirname, 'platform.json'), 'utf8')) as readonly Labelled[];
const [whole] = variantsOf([]);
if (whole === undefined) throw new TypeError('there is a variant of the whole fleet');
const percent = (share: number): string => (100 * share).toFixed(1);
for (const thresholds of ['Fixed', 'Calibration'] as const) {
  await using gates = await LocalGates.open(join(import.meta.dirname, '..', '..'), whole, thresholds);
  const judged: Judged[] = [];
  for (const act of acts) judged.push(await gates.judge(act, new AbortController().signal));
  for (const { label, entries, stopped, by } of talliesOf(judged))
    console.log(
      `${thresholds} ${label}: ${entries - by.Nobody} of ${entries} stopped, ${percent(stopped.value)} % (${percent(stopped.low)}–${percent(stopped.high)})`,
    );
  const wrong = judged.filter(({ label, stop }) => (label === 'Benign') === (stop !== 'Nobody'));
  if (argv.includes('--list')) for (const { id, label, stop, why } of wrong) console.log(`  ${id} ${label}: ${stop}, ${why}`);
}
