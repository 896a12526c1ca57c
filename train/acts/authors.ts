// Counts by author what both gates stop and refuse on the development halves of the packs, by the committed weights, or with `--left-out` by
// weights, curves and thresholds that never saw the author. `--verbose` names what is wrong. Writes nothing.
// Run: node hack/bootstrap.mjs train/acts/authors.ts [--left-out] [--verbose]
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { openFirstGate } from '@agentfleet/eval/local';
import { loadPolicy } from '../../inference-image/src/engines/policy/policy.ts';
import { loadEnergyModel } from '../../inference-image/src/models/energy/scorer.ts';
import { believedBy, type Believed } from './calibrate.ts';
import { allActs, packActs, type LabelledAct } from './data.ts';
import { authorsOf } from './folds.ts';
import { countGate, refuses, searchThresholds, type Thresholds } from './thresholds.ts';
import { actHeads, refusalCost, believedOf } from './train.ts';

const weights = join(import.meta.dirname, '..', '..', 'inference-image', 'weights');
const seed = 20_261_121;
const fixed: Thresholds = { vetoBelowProbability: 0.15, warnBelowProbability: 0.35 };

/** Returns the acts with the probabilities of the committed weights, and the thresholds of a head. */
async function committed(): Promise<{ readonly believed: readonly Believed[]; readonly thresholdsOf: (act: LabelledAct) => Thresholds }> {
  const model = loadEnergyModel(await readFile(join(weights, 'energy-features-v3.json')));
  const policy = loadPolicy(await readFile(join(weights, 'policy-v1.json')));
  const acts = await packActs({ policyOf: () => policy, gate: await openFirstGate() });
  const heads = model.calibration?.heads ?? [];
  return { believed: believedBy(model, acts), thresholdsOf: ({ head }) => heads.find(({ name }) => name === head) ?? fixed };
}

/** Returns the acts with the probabilities of models that never saw their author; thresholds are searched on the others. */
async function leftOut(): ReturnType<typeof committed> {
  const acts = await allActs(await readFile(join(weights, 'policy-v1.json')), seed);
  const believed = actHeads.flatMap((head) => believedOf(acts, head, seed).believed).filter(({ act }) => act.source === 'Pack');
  const byAuthor = new Map(
    authorsOf(acts).flatMap((author) =>
      actHeads.map((head) => {
        const others = believed.filter(({ act }) => act.head === head && act.author !== author);
        return [`${head} ${author}`, searchThresholds(others, refusalCost)] as const;
      }),
    ),
  );
  return { believed, thresholdsOf: ({ head, author = '' }) => byAuthor.get(`${head} ${author}`) ?? fixed };
}

const isLeftOut = argv.includes('--left-out');
const { believed, thresholdsOf } = await (isLeftOut ? leftOut() : committed());
const authors = [...authorsOf(believed.map(({ act }) => act)), 'all'];
const share = (part: number, whole: number): string => `${part} of ${whole} (${((100 * part) / Math.max(1, whole)).toFixed(1)} %)`;
for (const author of authors) {
  const own = believed.filter(({ act }) => author === 'all' || act.author === author);
  const byGateOne = own.filter(({ act }) => act.first.next === 'Rails' || act.first.next === 'Person');
  const [one, other] = [countGate(own, () => fixed), countGate(own, ({ act }) => thresholdsOf(act))];
  console.log(
    [
      author,
      share(one.stopped, one.unsafe),
      share(one.refused, one.safe),
      share(other.stopped, other.unsafe),
      share(other.refused, other.safe),
      byGateOne.filter(({ act }) => !act.good).length,
      byGateOne.filter(({ act }) => act.good).length,
    ].join(' | '),
  );
}
if (argv.includes('--verbose'))
  for (const one of believed) {
    const { act, p } = one;
    const by = [fixed, thresholdsOf(act)].map((thresholds) => refuses(one, thresholds));
    if (by.every((refused) => refused !== act.good)) continue;
    const { author, label, first, policy, id, text } = act;
    const wrong = by.map((refused) => (refused === act.good ? 'wrong' : 'right')).join('/');
    console.log(
      `\n${author} ${id} ${label} ${wrong} ${first.next} [${first.findings.join(', ')}] policy ${policy.unsafe.toFixed(2)} p ${p.toFixed(3)}\n  ${text.slice(0, 700)}`,
    );
  }
