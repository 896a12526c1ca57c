// Shows why energies of planted bugs do not order the proposals for other bugs: the dev half of Synth's own bugs in orders by energies that
// were trained on planted bugs, on four fifths of Synth's, or on both. `--data FILE` as for `train/main.ts`. Prints a table.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { mean } from '@agentfleet/eval/stats';
import { changedText, type Candidate, type Features, type ScoreItem } from '@agentfleet/protocol/inference';
import {
  generate,
  localise,
  patched,
  requestOf,
  type Case,
  type Corpus,
} from '../../inference-image/src/engines/synth/evaluation/evaluate.ts';
import { Grammars, installedGrammars, SynthEngine } from '../../inference-image/src/engines/synth/index.ts';
import { suspicionOf } from '../../inference-image/src/engines/synth/synth.ts';
import { javascriptCorpus } from '../../inference-image/src/engines/synth/javascript/evaluation/corpus.ts';
import { pythonCorpus } from '../../inference-image/src/engines/synth/python/evaluation/corpus.ts';
import { readEnergyFile, type EnergyHeadFile } from '../../inference-image/src/models/energy/file.ts';
import { contentEnergy } from '../../inference-image/src/models/energy/scorer.ts';
import { dataOf } from '../data/generate.ts';
import { fitEnergy } from '../energy/fit.ts';
import { groupsOf, unexecuted, type Group, type Item } from '../energy/items.ts';

const seed = 20_261_121;
const folds = 5;

interface Bug extends Group {
  readonly language: string;
}

async function bugOf(synth: SynthEngine, corpus: Corpus, subject: Case): Promise<Bug> {
  const { runs } = await corpus.execute(subject, [], true);
  const localisation = localise(subject, runs);
  const { path, source, name } = subject;
  const { candidates } = await generate(synth, requestOf(subject, localisation));
  const texts = candidates.map((candidate) => patched(subject, candidate));
  const { passed } = await corpus.execute(subject, texts, false);
  const suspicion = suspicionOf(localisation.spectrum);
  const items = candidates.map((candidate, at) =>
    itemOf(candidate, source, suspicion.at(path, candidate.location.line)?.ochiai, passed[at] === true),
  );
  return { language: corpus.language, problem: name, depth: 0, items };
}

function itemOf(candidate: Candidate, source: string, suspicion: number | undefined, right: boolean): Item {
  const { id, operator, edits, score, rank, location } = candidate;
  const features: Features = {
    proposalShare: score,
    rank,
    edits: edits.length,
    files: 1,
    charsAdded: edits.reduce((sum, { after }) => sum + after.length, 0),
    charsRemoved: edits.reduce((sum, { before }) => sum + before.length, 0),
    ...(suspicion !== undefined && { suspicion }),
    testsTotal: 1,
    testsFailed: right ? 0 : 1,
  };
  return {
    item: { id, head: 'Code', text: changedText(candidate, [{ path: location.path, content: source }]), operator, features },
    right,
    plausible: right,
  };
}

async function devBugs(): Promise<readonly Bug[]> {
  const synth = new SynthEngine({ grammars: await Grammars.open(installedGrammars()), modelDigest: '', now: () => 0 });
  const bugs: Bug[] = [];
  for (const corpus of [pythonCorpus, javascriptCorpus])
    for (const subject of await corpus.cases('dev')) bugs.push(await bugOf(synth, corpus, subject));
  await synth.close();
  return bugs.filter(({ items }) => items.some(({ right }) => right));
}

type Energy = (bug: Bug, at: number, one: Item) => number;
type View = (item: ScoreItem) => ScoreItem;

const whole: View = (item) => item;
const dense: View = (item) => ({ ...item, text: '', operator: '' });
const early = ({ item }: Item): ScoreItem => ({ ...item, features: unexecuted(item.features) });

function fitted(groups: readonly Group[], view: View, epochs: number): EnergyHeadFile {
  const seen = groups.map((group) => ({ ...group, items: group.items.map((one) => ({ ...one, item: view(one.item) })) }));
  return { ...fitEnergy(seen, { seed, epochs, head: 0.7 }), calibration: { before: null, after: null }, about: '' };
}

/** Energies of each bug by a head that was fitted without its fold. */
function crossed(bugs: readonly Bug[], more: readonly Group[], repeat: number, view: View, epochs: number): Energy {
  const heads = Array.from({ length: folds }, (_, fold) => {
    const rest = bugs.filter((_, at) => at % folds !== fold);
    return fitted([...more, ...Array.from({ length: repeat }, () => rest).flat()], view, epochs);
  });
  return (_, at, one) => contentEnergy(heads[at % folds] as EnergyHeadFile, view(early(one)));
}

function row(name: string, bugs: readonly Bug[], energy: Energy): string {
  const places = bugs.map((bug, at) => {
    const energies = new Map(bug.items.map((one) => [one, energy(bug, at, one)]));
    const order = bug.items.toSorted((a, b) => (energies.get(a) ?? 0) - (energies.get(b) ?? 0));
    return { language: bug.language, log: Math.log(order.findIndex(({ right }) => right) + 1) };
  });
  const cell = (python: boolean): string =>
    mean(places.filter(({ language }) => (language === 'Python') === python).map(({ log }) => log)).toFixed(2);
  return `| ${name} | ${cell(true)} | ${cell(false)} |`;
}

const at = argv.indexOf('--data');
const data = await dataOf(at === -1 ? undefined : argv[at + 1], { seed, perProblem: 4, say: () => {} });
const planted = groupsOf(data.subjects, 'train');
const { heads } = readEnergyFile(await readFile(join(import.meta.dirname, '../../inference-image/weights/energy-features-v3.json'))).file;
const bugs = await devBugs();
const share = ({ item }: Item): number => Math.log((item.features.proposalShare ?? 0) + 1e-4);
const onPlanted = fitted(planted, dense, 14);
console.log(`${bugs.length} bugs\n\n| Order before the act | Python | JavaScript |\n|---|---|---|`);
console.log(row("Synth's own", bugs, (_, __, { item }) => item.features.rank ?? 0));
console.log(row('committed energy', bugs, (_, __, one) => contentEnergy(heads.Code, early(one))));
console.log(row('features alone, trained on planted bugs', bugs, (_, __, one) => contentEnergy(onPlanted, dense(early(one)))));
console.log(
  row(
    'committed energy less twice the logarithm of the share',
    bugs,
    (_, __, one) => contentEnergy(heads.Code, early(one)) - 2 * share(one),
  ),
);
console.log(row("trained on the planted bugs and four fifths of Synth's", bugs, crossed(bugs, planted, 5, whole, 8)));
console.log(row("trained on four fifths of Synth's bugs alone", bugs, crossed(bugs, [], 1, whole, 30)));
console.log(row('the same, features alone', bugs, crossed(bugs, [], 1, dense, 30)));
