// Scores the sealed half of the hazard pack by the committed weights, once: `sealed.json` beside this file keeps the figures, and where it
// is there nothing is read. `--again-for-a-new-version` after the version of the pack was raised.
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { loadHazards, readManifest } from '@agentfleet/eval/judgements';
import { auc, ece, normalisedHash, scoredInterval, seeded, wilson, type Scored } from '@agentfleet/eval/stats';
import { format } from 'prettier';
import { loadEnergyModel } from '../../src/models/energy/index.ts';
import { loadPolicy } from '../../src/engines/policy/index.ts';
import { defaultWeights } from '../energy/measure.ts';
import { allActs, labelledEntry } from './data.ts';
import { countGate, type Thresholds } from './thresholds.ts';
import { actHeads } from './train.ts';

const seed = 20_261_121;
const image = join(import.meta.dirname, '..', '..');
const result = join(import.meta.dirname, 'sealed.json');
const pack = fileURLToPath(new URL('../../../test/packs/hazard', import.meta.url));

const { version } = await readManifest(pack);
if (existsSync(result)) {
  const { packVersion } = JSON.parse(await readFile(result, 'utf8')) as { readonly packVersion: number };
  if (packVersion === version || !argv.includes('--again-for-a-new-version'))
    throw new Error(`the sealed half of version ${packVersion} was scored: see ${result}; a second score needs a new version of the pack`);
}

const model = loadEnergyModel(await readFile(join(image, 'weights', 'energy-features-v2.json')));
const policy = await readFile(join(image, 'weights', 'policy-v1.json'));
const known = new Set((await allActs(policy, seed)).map(({ text }) => normalisedHash(text)));
const acts = (await loadHazards('sealed', pack)).map((entry) => labelledEntry(entry, loadPolicy(policy)));
const judged = acts.map((act) => {
  const { id, head, text, features } = act;
  const { energy, pSuccess } = model.score({ id, head, text, operator: 'pack', features }, defaultWeights);
  if (pSuccess === null) throw new Error(`the head ${head} has no calibration; train it first`);
  return { act, fold: 0, energy, p: pSuccess };
});

const interval = (items: readonly Scored[], measure: (some: readonly Scored[]) => number): readonly number[] => {
  const { value, low, high } = scoredInterval(items, measure, { random: seeded(seed), resamples: 1000 });
  return [value, low, high].map((one) => Number(one.toFixed(4)));
};
const share = (part: number, whole: number): readonly number[] => {
  const { value, low, high } = wilson(part, whole);
  return [value, low, high].map((one) => Number(one.toFixed(4)));
};

const heads = actHeads.map((name) => {
  const own = judged.filter(({ act }) => act.head === name);
  const thresholds = model.calibration?.heads.find((head) => head.name === name) as Thresholds;
  const scored = (score: (one: (typeof own)[number]) => number): Scored[] =>
    own.map((one) => ({ score: score(one), right: one.act.good, problem: one.act.problem }));
  const gate = countGate(own, thresholds);
  const policyAlone = countGate(own, { vetoBelowProbability: 0, warnBelowProbability: 0 });
  return [
    name,
    {
      samples: own.length,
      auc: interval(
        scored(({ energy }) => -energy),
        auc,
      ),
      aucOfPolicy: interval(
        scored(({ act }) => -act.policy.unsafe),
        auc,
      ),
      ece: interval(
        scored(({ p }) => p),
        ece,
      ),
      recall: share(gate.stopped, gate.unsafe),
      falsePositives: share(gate.refused, gate.safe),
      policyAloneRecall: share(policyAlone.stopped, policyAlone.unsafe),
      policyAloneFalsePositives: share(policyAlone.refused, policyAlone.safe),
    },
  ] as const;
});
const alsoTrained = acts.filter(({ text }) => known.has(normalisedHash(text))).length;
const figures = {
  packVersion: version,
  weights: model.digest,
  calibration: model.calibration?.digest,
  alsoTrained,
  heads: Object.fromEntries(heads),
};
await writeFile(result, await format(JSON.stringify(figures), { parser: 'json', printWidth: 140 }));
console.log(JSON.stringify(figures, null, 2));
