import { posix } from 'node:path';
import { likeness, shingles, type Proposal } from '@agentfleet/eval/judgements';
import { brokenNodesOf, openFirstGate, type FirstGate, type FirstWord } from '@agentfleet/eval/local';
import { normalisedHash } from '@agentfleet/eval/stats';
import { actFeatures, type EnergyHead, type Features } from '@agentfleet/protocol/inference';
import { homeDir, workspaceDir } from '@agentfleet/protocol/keeper';
import { loadPolicy, type Policy } from '../../inference-image/src/engines/policy/policy.ts';
import { train as trainPolicy } from '../policy/train.ts';
import { actOf, onlyAuthor, packEntries, textOf, type Act, type PackEntry } from '../policy/packs.ts';
import { foldsOf, harmlessAct, samplesOf, solutionWeight, type Sample } from '../policy/samples.ts';
import { Random } from '../numeric/random.ts';
import { embedded } from './embedded.ts';
import { hiddenIn, oracleActs } from '../policy/oracles.ts';
import { pairedCommands, pairedFiles } from './pairs.ts';
import { recordedActs as recordings, type RecordedAct } from '../policy/recorded.ts';

/** A labelled act: of the development half of a pack, a filled template, or of a recorded conversation. */
export interface LabelledAct {
  readonly id: string;
  /** Problem, which must not be on both sides of a split. */
  readonly problem: string;
  /** Of an act of a pack: who wrote it. */
  readonly author?: string;
  readonly source: 'Pack' | 'Template' | 'Recorded';
  readonly head: Extract<EnergyHead, 'Shell' | 'Editor'>;
  readonly text: string;
  readonly features: Features;
  readonly good: boolean;
  readonly label: string;
  /** Of Policy, that never saw this act. */
  readonly policy: { readonly unsafe: number; readonly label: string };
  readonly weight: number;
  /** Whether it is a file that was made of a command. */
  readonly embedded?: boolean;
  /** Answer of gate 1 about it. */
  readonly first: FirstWord;
}

/** Acts that are measured and calibrated on: all of the pack, one filling of each template. */
export function onePerProblem<T extends { readonly act: { readonly problem: string } }>(all: readonly T[]): readonly T[] {
  const seen = new Set<string>();
  return all.filter(({ act: { problem } }) => !seen.has(problem) && seen.add(problem));
}

export const foldCount = 5;
/** Acts of which so much of the text is the same are one problem. */
const tooAlike = 0.5;

/** Judges of an act. */
interface Judges {
  /** Returns a Policy that never saw the problem of an act. */
  readonly policyOf: (problem: string) => Policy;
  readonly gate: FirstGate;
}

function labelled(
  act: Act,
  of: Pick<LabelledAct, 'id' | 'problem' | 'author' | 'source' | 'label' | 'weight' | 'embedded'>,
  { policyOf, gate }: Judges,
  proposal = proposalOf(act),
): LabelledAct {
  const { tool, subject, content } = act;
  const { unsafe, label } = policyOf(of.problem).judge({ id: 'a', rails: [], ...act });
  const first = gate(proposal);
  const features: Features = {
    ...actFeatures({ subject, ...(content !== undefined && { content }) }),
    ...first.structure,
    railRank: first.rank,
    policyUnsafe: unsafe,
  };
  const head = tool === 'FileWrite' ? 'Editor' : 'Shell';
  return { ...of, policy: { unsafe, label }, first, head, text: textOf(act), features, good: of.label === 'Benign' };
}

/** Returns an act as gate 1 is given it; a file of a template is in the workspace where it names no other place. */
function proposalOf({ tool, subject, content }: Act): Proposal {
  if (tool === 'FileWrite') return { tool, path: posix.resolve(workspaceDir, subject.replace(/^~/, homeDir)), content: content ?? '' };
  return { tool: 'Shell', command: subject };
}

/** An entry of the pack as a worker asks about it. */
export function labelledEntry(entry: PackEntry, judges: Judges): LabelledAct {
  const { id, label, author = onlyAuthor } = entry;
  return labelled(actOf(entry), { id, problem: id, author, source: 'Pack', label, weight: 1 }, judges, entry);
}

/** Acts of the packs' development halves. */
export async function packActs(judges: Judges): Promise<readonly LabelledAct[]> {
  return (await packEntries()).map((entry) => labelledEntry(entry, judges));
}

/** Acts of recorded conversations that passed, and solutions of tasks. */
async function playedActs(judges: Judges, seed: number): Promise<readonly LabelledAct[]> {
  const harmless = (one: RecordedAct, problem: string, id: string, weight: number): LabelledAct =>
    labelled(harmlessAct(one), { id, problem, source: 'Recorded', label: 'Benign', weight }, judges);
  const recorded = (await recordings()).map((one, at) => harmless(one, `recorded-${at}`, `r${at}`, 1));
  const solved = (await oracleActs(new Random(seed))).map(({ act, family }, at) =>
    harmless(act, `solution-${family}`, `s${at}`, solutionWeight),
  );
  return [...recorded, ...solved];
}

/** Of harmful commands so many are hidden in a program. */
const hiddenShare = 0.4;

/** Harmful commands in the midst of the programs of solutions, so that a long text is not taken for a harmless one. */
function hiddenActs(commands: readonly LabelledAct[], programs: readonly string[], judges: Judges, seed: number): readonly LabelledAct[] {
  const random = new Random(seed);
  const harmful = onePerProblem(commands.filter(({ head, good }) => head === 'Shell' && !good).map((act) => ({ act })));
  return harmful.flatMap(({ act: { text, id, problem, label } }) => {
    if (random.next() >= hiddenShare) return [];
    const act: Act = { tool: 'Shell', subject: hiddenIn(text, random.pick(programs), random) };
    return [labelled(act, { id: `h${id}`, problem, source: 'Template', label, weight: 0.5 }, judges)];
  });
}

/** Returns for each problem that the Policy of the release learned from one that did not, and for all others that of the release. */
function crossPolicies(samples: readonly Sample[], release: Policy, seed: number): Judges['policyOf'] {
  const folds = foldsOf(samples, foldCount, new Random(seed + 1));
  const policies = Array.from({ length: foldCount }, (_, fold) => {
    const rest = samples.filter(({ problem }) => folds.get(problem) !== fold);
    return loadPolicy(Buffer.from(JSON.stringify(trainPolicy(rest, new Random(seed + 2 + fold), {}))));
  });
  return (problem) => policies[folds.get(problem) ?? foldCount] ?? release;
}

/** Returns the acts of filled templates. */
function templateActs(samples: readonly Sample[], judges: Judges): readonly LabelledAct[] {
  return samples.flatMap(({ act, label, source, problem, weight }, at) =>
    source === 'Template' ? [labelled(act, { id: `t${at}`, problem, source: 'Template', label, weight }, judges)] : [],
  );
}

/** Acts that look alike and are not. */
function pairedActs(judges: Judges): readonly LabelledAct[] {
  const acts = [
    ...pairedCommands.map(([label, subject]) => ({ label, act: { tool: 'Shell', subject } as const })),
    ...pairedFiles.map(([label, subject, content]) => ({ label, act: { tool: 'FileWrite', subject, content } as const })),
  ];
  return acts.map(({ label, act }, at) =>
    labelled(act, { id: `p${at}`, problem: `pair-${at}`, source: 'Template', label, weight: 1 }, judges),
  );
}

/** Commands as files that run them, or only speak of them: one for each problem, and the same problem as the command's. */
function embeddedActs(commands: readonly LabelledAct[], judges: Judges, seed: number): readonly LabelledAct[] {
  const random = new Random(seed);
  return onePerProblem(commands.filter(({ head }) => head === 'Shell').map((act) => ({ act }))).map(({ act }) => {
    const { path, content, runs } = embedded(act.text, random);
    const of = { id: `e${act.id}`, problem: act.problem, source: 'Template', label: runs ? act.label : 'Benign', weight: 1 } as const;
    return labelled({ tool: 'FileWrite', subject: path, content }, { ...of, embedded: true }, judges);
  });
}

/** Acts that write a file with what a worker measures of its source. */
async function withSources(acts: readonly LabelledAct[]): Promise<readonly LabelledAct[]> {
  const files = acts.filter(({ head }) => head === 'Editor');
  const broken = await brokenNodesOf(
    files.map(({ text }) => ({ path: text.slice(0, text.indexOf('\n')), content: text.slice(text.indexOf('\n') + 1) })),
  );
  const measured = new Map(files.map((act, at) => [act, broken[at]]));
  return acts.map((act) => {
    const brokenNodes = measured.get(act);
    return brokenNodes === undefined ? act : { ...act, features: { ...act.features, brokenNodes } };
  });
}

/** All acts that are learned from. A template of which a filling is an act of the pack goes: it would stand on both sides of a split. */
export async function allActs(policy: Buffer, seed: number): Promise<readonly LabelledAct[]> {
  const samples = await samplesOf(new Random(seed));
  const judges = { policyOf: crossPolicies(samples, loadPolicy(policy), seed), gate: await openFirstGate() };
  const pack = await packActs(judges);
  const known = new Set(pack.map(({ text }) => normalisedHash(text)));
  const filled = templateActs(samples, judges);
  const contents = new Set(filled.map(({ text }) => normalisedHash(text)));
  const templates = [...filled, ...pairedActs(judges).filter(({ text }) => !contents.has(normalisedHash(text)))];
  const sets = pack.map(({ text }) => shingles(text));
  const alike = (text: string): boolean => {
    const own = shingles(text);
    return sets.some((set) => likeness(own, set) >= tooAlike);
  };
  const stands = (text: string): boolean => known.has(normalisedHash(text)) || alike(text);
  const same = new Set(templates.filter(({ text }) => stands(text)).map(({ problem }) => problem));
  const kept = templates.filter(({ problem }) => !same.has(problem));
  const played = (await playedActs(judges, seed + 200)).filter(({ text }) => !stands(text));
  const programs = played
    .filter(({ head, source, text }) => head === 'Editor' && source === 'Recorded' && text.includes('.py\n'))
    .map(({ text }) => text);
  const bodies = programs.map((text) => text.slice(text.indexOf('\n') + 1));
  const own = [...pack, ...kept];
  const made = [...embeddedActs(own, judges, seed + 100), ...hiddenActs(own, bodies, judges, seed + 300)];
  return withSources(distinct([...own, ...played, ...made]));
}

/** Acts whose text stands in another problem go: the first stands for it. */
function distinct(acts: readonly LabelledAct[]): readonly LabelledAct[] {
  const owner = new Map(acts.toReversed().map(({ text, problem }) => [normalisedHash(text), problem]));
  return acts.filter(({ text, problem }) => owner.get(normalisedHash(text)) === problem);
}
