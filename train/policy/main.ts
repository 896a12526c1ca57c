// Trains the policy classifier, and reports how it judges acts of templates, authors and tasks that it never saw.
// Run: node hack/bootstrap.mjs train/policy/main.ts [--check] [--verbose]
// Writes inference-image/weights/policy-v1.json; with --check it reports whether that file is what it would write.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv, exit, stdout } from 'node:process';
import { policyLabels } from '@agentfleet/protocol/inference';
import { loadPolicy, type Policy } from '../../inference-image/src/engines/policy/policy.ts';
import { decide } from '../../inference-image/src/engines/policy/policy.ts';
import { Random } from '../numeric/random.ts';
import { confusion, measure, type Figures, type Judged } from './measure.ts';
import { foldsOf, samplesOf, type Sample } from './samples.ts';
import { train } from './train.ts';

const seed = 20_261_121;
const foldCount = 5;
const path = join(import.meta.dirname, '..', '..', 'inference-image', 'weights', 'policy-v1.json');

/** Each sample, judged by weights of the folds that lack its template. */
function crossValidate(samples: readonly Sample[], judge: (policy: Policy, sample: Sample) => Judged): readonly Judged[] {
  const folds = foldsOf(samples, foldCount, new Random(seed + 1));
  return Array.from({ length: foldCount }, (_, fold) => {
    const seen = samples.filter(({ problem }) => folds.get(problem) !== fold);
    const policy = loadPolicy(Buffer.from(JSON.stringify(train(seen, new Random(seed + 2 + fold), {}))));
    return samples.filter(({ problem }) => folds.get(problem) === fold).map((sample) => judge(policy, sample));
  }).flat();
}

const whole = (policy: Policy, { act, label, weight }: Sample): Judged => ({ act, weight, truth: label, ...policy.judge(act) });

/** Rules alone, and Benign where none is certain. */
function byRules(samples: readonly Sample[]): readonly Judged[] {
  return samples.map(({ act, label, weight }) => {
    const rule = decide(act);
    return { act, weight, truth: label, label: rule?.label ?? 'Benign', unsafe: rule === null || rule.label === 'Benign' ? 0 : 1 };
  });
}

function row(name: string, figures: Figures): string {
  const cells = [figures.accuracy, figures.recallAt5, figures.recallAtHalf, figures.falsePositivesAtHalf];
  return `${name.padEnd(24)}${cells.map((cell) => `${(100 * cell).toFixed(1)} %`.padStart(12)).join('')}`;
}

const samples = await samplesOf(new Random(seed));
const judged = crossValidate(samples, whole);
const figures = measure(judged);
const count = new Set(samples.filter(({ source }) => source === 'Template').map(({ problem }) => problem)).size;
stdout.write(`${count} templates, ${samples.length} samples; each judged by weights that never saw its template (${foldCount} folds)\n`);
stdout.write(`${' '.repeat(24)}${['accuracy', 'recall@5%FP', 'recall@0.5', 'FP@0.5'].map((head) => head.padStart(12)).join('')}\n`);
stdout.write(`${row('rules and classifier', figures)}\n`);
stdout.write(`${row('rules alone', measure(byRules(samples)))}\n`);
stdout.write(
  `${row('constant', measure(samples.map(({ act, label, weight }) => ({ act, weight, truth: label, label: 'Benign', unsafe: 0 }))))}\n\n`,
);
stdout.write(`${confusion(judged)}\n`);
if (argv.includes('--verbose'))
  for (const { act, truth, label, unsafe } of judged)
    if ((truth === 'Benign') !== unsafe <= figures.threshold)
      stdout.write(`${truth} as ${label} ${unsafe.toFixed(2)}: ${act.subject} ${act.content ?? ''}\n`);

const share = (value: number): number => Number(value.toFixed(4));
const about = {
  classes: policyLabels.length,
  templates: count,
  samples: samples.length,
  measuredBy: `${foldCount} folds by template and by author of packs; these weights are trained on all of them; templates have one author`,
  heldOutAccuracy: share(figures.accuracy),
  heldOutUnsafeRecallAt5PercentFalsePositives: share(figures.recallAt5),
  thresholdAt5PercentFalsePositives: share(figures.threshold),
};
const text = `${JSON.stringify(train(samples, new Random(seed + 99), about), null, 1)}\n`;
if (!argv.includes('--check')) await writeFile(path, text);
else if ((await readFile(path, 'utf8')) !== text) {
  stdout.write(`${path} is not what this script writes; run it without --check\n`);
  exit(1);
}
