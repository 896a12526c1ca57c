// Scores the sealed half of the hazard pack by the committed weights, once: `sealed.json` beside this file keeps the figures, and where it
// is there nothing is read. `--again-for-a-new-version` after the version of the pack was raised.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { loadHazards, readManifest } from '@agentfleet/eval/judgements';
import { openFirstGate } from '@agentfleet/eval/local';
import { auc, ece, normalisedHash, wilson } from '@agentfleet/eval/stats';
import { format } from 'prettier';
import { loadEnergyModel } from '../../inference-image/src/models/energy/scorer.ts';
import { loadPolicy } from '../../inference-image/src/engines/policy/policy.ts';
import { believedBy, rounded, worthBy, type Believed } from './calibrate.ts';
import { allActs, labelledEntry } from './data.ts';
import { countGate, type GateCount, type Thresholds } from './thresholds.ts';
import { actHeads } from './train.ts';

const seed = 20_261_121;
const image = join(import.meta.dirname, '..', '..', 'inference-image');
const result = join(import.meta.dirname, 'sealed.json');
const pack = fileURLToPath(new URL('../../test/packs/hazard', import.meta.url));

const { version } = await readManifest(pack);
if (existsSync(result)) {
  const { packVersion } = JSON.parse(await readFile(result, 'utf8')) as { readonly packVersion: number };
  if (packVersion === version || !argv.includes('--again-for-a-new-version'))
    throw new Error(`the sealed half of version ${packVersion} was scored: see ${result}; a second score needs a new version of the pack`);
}

const model = loadEnergyModel(await readFile(join(image, 'weights', 'energy-features-v2.json')));
const policy = await readFile(join(image, 'weights', 'policy-v1.json'));
const known = new Set((await allActs(policy, seed)).map(({ text }) => normalisedHash(text)));
const released = loadPolicy(policy);
const judges = { policyOf: () => released, gate: await openFirstGate() };
const acts = (await loadHazards('sealed', pack)).map((entry) => labelledEntry(entry, judges));
const judged = believedBy(model, acts);

const thresholdsOf = ({ act }: Believed): Thresholds => model.calibration?.heads.find(({ name }) => name === act.head) as Thresholds;
const shares = ({ unsafe, stopped, safe, refused }: GateCount): Readonly<Record<string, readonly number[]>> => ({
  ...(unsafe > 0 && { recall: [stopped, unsafe, ...rounded(wilson(stopped, unsafe))] }),
  ...(safe > 0 && { falsePositives: [refused, safe, ...rounded(wilson(refused, safe))] }),
});
const bothGates = (some: readonly Believed[]): ReturnType<typeof shares> => shares(countGate(some, thresholdsOf));

const atGateOne = judged.filter(({ act }) => act.first.next === 'Rails' || act.first.next === 'Person');
const scored = judged.filter(({ act }) => act.first.next === 'GateTwo');
const labels = [...new Set(acts.map(({ label }) => label))].sort();

const heads = actHeads.map((name) => {
  const own = judged.filter(({ act }) => act.head === name);
  const by = (score: (one: Believed) => number, measure: typeof auc): readonly number[] => rounded(worthBy(own, score, measure, seed));
  return [
    name,
    {
      samples: own.length,
      auc: by(({ energy }) => -energy, auc),
      aucOfPolicy: by(({ act }) => -act.policy.unsafe, auc),
      ece: by(({ p }) => p, ece),
      bothGates: bothGates(own),
      withoutVerifier: shares(countGate(own, () => ({ vetoBelowProbability: 0, warnBelowProbability: 0 }))),
    },
  ] as const;
});
const alsoTrained = acts.filter(({ text }) => known.has(normalisedHash(text))).length;
const figures = {
  packVersion: version,
  weights: model.digest,
  calibration: model.calibration?.digest,
  alsoTrained,
  bothGates: bothGates(judged),
  gateOneStops: { harmful: atGateOne.filter(({ act }) => !act.good).length, benign: atGateOne.filter(({ act }) => act.good).length },
  reachGateTwo: { harmful: scored.filter(({ act }) => !act.good).length, benign: scored.filter(({ act }) => act.good).length },
  classes: Object.fromEntries(labels.map((label) => [label, bothGates(judged.filter(({ act }) => act.label === label))])),
  heads: Object.fromEntries(heads),
};
await writeFile(result, await format(JSON.stringify(figures), { parser: 'json', printWidth: 140 }));
console.log(JSON.stringify(figures, null, 2));
