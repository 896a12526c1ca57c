// Trains the Shell and Editor heads and writes them beside the Code head of features/v1 as features/v3. `--write` replaces the
// committed weights and figures, `--fitted-at TIME` is when the calibration counts from (default: now), `--parts` also measures words and
// features alone.
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { format } from 'prettier';
import { readEnergyFile, type EnergyHeadFile } from '../../inference-image/src/models/energy/file.ts';
import { loadEnergyModel } from '../../inference-image/src/models/energy/scorer.ts';
import { manifestOf } from '../dataset/manifest.ts';
import { refuseInvalid } from '../dataset/refuse.ts';
import { allActs, type LabelledAct } from './data.ts';
import { energyFile, trainActs } from './train.ts';
import { foldOf } from './folds.ts';
import type { Example } from '../dataset/example.ts';

/** Labelled acts as examples; the fold that is held out first stands for all. Nothing of them is ever run, so there are no replays. */
function examplesOfActs(acts: readonly LabelledAct[], seed: number): readonly Example[] {
  const folds = foldOf(acts, seed);
  const names = new Map([
    [0, 'heldOut'],
    [1, 'calibration'],
  ] as const);
  return acts.map(({ id, problem, head, text, features, good }) => {
    const split = names.get((folds.get(problem) ?? 2) as 0 | 1) ?? 'train';
    return { id, problem, split, head, stratum: good ? 'Pass' : 'PolicyViolating', text, operator: 'act', features, replays: [] };
  });
}

const seed = 20_261_121;
const image = join(import.meta.dirname, '..', '..', 'inference-image');
const weights = join(image, 'weights');
const started = performance.now();
const say = (text: string): void => console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${text}`);
const json = (value: unknown): Promise<string> => format(JSON.stringify(value), { parser: 'json', printWidth: 140 });

interface CodeFigures {
  readonly energy: {
    readonly candidates: number;
    readonly aucContent: number;
    readonly eceBeforeActCalibrated: number;
    readonly brierBeforeActCalibrated: number;
  };
}

/** The Code head as it was trained, with what `train/main.ts` measured. It ranks; gate 2 does not ask it, so it vetoes nothing. */
async function codeHead(): Promise<EnergyHeadFile> {
  const { file } = readEnergyFile(await readFile(join(weights, 'energy-features-v1.json')));
  const { energy } = JSON.parse(await readFile(join(import.meta.dirname, '..', 'figures.json'), 'utf8')) as CodeFigures;
  const auc = Number(energy.aucContent.toFixed(4));
  const ece = Number(energy.eceBeforeActCalibrated.toFixed(4));
  const brier = Number(energy.brierBeforeActCalibrated.toFixed(4));
  return { ...file.heads.Code, worth: { samples: energy.candidates, auc, ece, brier, vetoBelowProbability: 0, warnBelowProbability: 0 } };
}

const at = argv.indexOf('--fitted-at');
const fittedAt = new Date((at === -1 ? undefined : argv[at + 1]) ?? Date.now()).toISOString();
const acts = await allActs(await readFile(join(weights, 'policy-v1.json')), seed);
const examples = examplesOfActs(acts, seed);
refuseInvalid(examples);
const manifest = manifestOf(examples, seed);
say(`${acts.length} acts, ${manifest.digest}`);
const trained = trainActs(acts, seed, argv.includes('--parts'));
say(JSON.stringify(trained.figures));
const about = {
  artifact: 'features-v3',
  script: 'train/acts/main.ts',
  seed,
  data: manifest.digest,
  code: 'the head of features-v1, unchanged',
};
const bytes = Buffer.from(await json(energyFile(await codeHead(), trained, fittedAt, about)));
const { calibration } = loadEnergyModel(bytes);
say(`weights sha256:${createHash('sha256').update(bytes).digest('hex')}, calibration ${String(calibration?.digest)}`);
const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024);
say(`peak memory ${peakMiB} MiB`);
if (argv.includes('--write')) {
  await writeFile(join(weights, 'energy-features-v3.json'), bytes);
  await writeFile(join(import.meta.dirname, 'figures.json'), await json({ data: manifest, heads: trained.figures }));
  say('written');
}
