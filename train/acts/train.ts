import { featureSet } from '@agentfleet/protocol/inference';
import { energyFormat, type EnergyFile, type EnergyHeadFile, type HeadWorth } from '../../inference-image/src/models/energy/file.ts';
import { defaultWeights } from '../energy/measure.ts';
import { Random } from '../numeric/random.ts';
import { crossProbabilities, curveOf, rounded, worthOf, type Believed } from './calibrate.ts';
import { onePerProblem, type LabelledAct } from './data.ts';
import { chosen, fitActs, temperatureOf, type ActFit } from './fit.ts';
import { crossEnergies, type Judged } from './folds.ts';
import { countGate, searchThresholds, type GateCount, type Thresholds } from './thresholds.ts';

export const actHeads = ['Shell', 'Editor'] as const;
type ActHead = (typeof actHeads)[number];

/** Cost of refusing a share of the harmless acts, beside passing the same share of the unsafe ones: a refusal may end a task. */
export const refusalCost = 2;
/** Other costs, to tell what they would give. */
const otherCosts = [0.5, 1, 4] as const;

type ActFigures = Readonly<Record<string, unknown>>;

interface TrainedHead {
  readonly head: EnergyHeadFile;
  readonly figures: ActFigures;
}

const gateAt = (believed: readonly Believed[], thresholds: Thresholds): GateCount => countGate(believed, () => thresholds);

function reportedWorth({ samples, auc, ece, brier }: ReturnType<typeof worthOf>): Pick<HeadWorth, 'samples' | 'auc' | 'ece' | 'brier'> {
  const [a, e, b] = [auc, ece, brier].map(({ value }) => Number(value.toFixed(4))) as [number, number, number];
  return { samples, auc: a, ece: e, brier: b };
}

function figuresOf(believed: readonly Believed[], seed: number): ActFigures {
  const { samples, auc, ece, brier } = worthOf(believed, seed);
  return { samples, auc: rounded(auc), ece: rounded(ece), brier: rounded(brier) };
}

const fromPack = (all: readonly Believed[]): readonly Believed[] => all.filter(({ act }) => act.source === 'Pack');

/** Measures the worth of the model, and if `measured`, on the same folds, of words and features alone, which takes three times as long. */
function partsOf(acts: readonly LabelledAct[], head: ActHead, both: readonly Believed[], seed: number, measured: boolean): ActFigures {
  const believedBy = (options: ActFit): readonly Believed[] => {
    const own = crossEnergies(acts, options, seed).filter(({ act }) => act.head === head);
    return onePerProblem(crossProbabilities(own));
  };
  const alone = measured
    ? { contentOnly: believedBy({ ...chosen, dense: false }), featuresOnly: believedBy({ ...chosen, words: false }) }
    : {};
  const parts: Readonly<Record<string, readonly Believed[]>> = { ...alone, both };
  return Object.fromEntries(
    Object.entries(parts).map(([name, believed]) => {
      // Acts that gate 1 leaves to gate 2 are the harder part, and the one that the Verifier is asked about.
      const pack = fromPack(believed);
      const asked = pack.filter(({ act }) => act.first.next === 'GateTwo');
      return [name, { all: figuresOf(believed, seed), pack: figuresOf(pack, seed), asked: figuresOf(asked, seed) }];
    }),
  );
}

/** Commands in files teach the head of files; to that of commands they say nothing new. */
const learnedBy = (head: ActHead, acts: readonly LabelledAct[]): readonly LabelledAct[] =>
  head === 'Editor' ? acts : acts.filter(({ embedded }) => !embedded);

/** Returns the probabilities of the acts of a head by models that saw neither the problem nor, of a pack, the author. */
export function believedOf(
  all: readonly LabelledAct[],
  name: ActHead,
  seed: number,
): { readonly believed: readonly Believed[]; readonly cooled: readonly Judged[]; readonly temperature: number } {
  const judged = crossEnergies(learnedBy(name, all), chosen, seed).filter(({ act }) => act.head === name);
  const temperature = temperatureOf(onePerProblem(judged).map(({ energy, act }) => ({ energy, good: act.good })));
  const cooled = judged.map((one) => ({ ...one, energy: one.energy / temperature }));
  return { believed: onePerProblem(crossProbabilities(cooled)), cooled, temperature };
}

function trainHead(all: readonly LabelledAct[], name: ActHead, seed: number, parts: boolean): TrainedHead {
  const acts = learnedBy(name, all);
  const { believed, cooled, temperature } = believedOf(all, name, seed);
  const pack = fromPack(believed);
  const thresholds = searchThresholds(pack, refusalCost);
  const words = { ...fitActs(acts, chosen, new Random(seed)), temperature };
  const at = (cost: number): GateCount & { readonly cost: number } => ({ cost, ...gateAt(pack, searchThresholds(pack, cost)) });
  return {
    head: {
      content: null,
      words,
      prior: {},
      executed: {},
      ran: 0,
      lambdas: { lambda: 1, head: defaultWeights.heads[name] },
      calibration: { before: curveOf(onePerProblem(cooled)), after: null },
      worth: { ...reportedWorth(worthOf(believed, seed)), ...thresholds },
      about:
        'trained on the development halves of the packs of judgements, on filled templates and on recorded conversations; probability that the act is harmless',
    },
    figures: {
      temperature,
      thresholds,
      gate: gateAt(pack, thresholds),
      firstGate: gateAt(
        pack.filter(({ act }) => act.first.next !== 'GateTwo'),
        thresholds,
      ),
      otherCosts: otherCosts.map(at),
      parts: partsOf(acts, name, believed, seed, parts),
    },
  };
}

interface TrainedActs {
  readonly heads: Readonly<Record<ActHead, EnergyHeadFile>>;
  readonly figures: ActFigures;
}

/** Trains the heads that judge commands and files by the harm that they may do. */
export function trainActs(acts: readonly LabelledAct[], seed: number, parts: boolean): TrainedActs {
  const shell = trainHead(acts, 'Shell', seed, parts);
  const editor = trainHead(acts, 'Editor', seed, parts);
  return { heads: { Shell: shell.head, Editor: editor.head }, figures: { Shell: shell.figures, Editor: editor.figures } };
}

/** Weights of all heads: `code` is the trained Code head with what it is worth. */
export function energyFile(code: EnergyHeadFile, acts: TrainedActs, fittedAt: string, about: EnergyFile['about']): EnergyFile {
  return { format: energyFormat, featureSet, fittedAt, about, heads: { Code: code, ...acts.heads } };
}
