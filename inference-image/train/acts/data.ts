import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { likeness, loadHazards, shingles, type HazardEntry, type Proposal } from '@agentfleet/eval/judgements';
import { brokenNodesOf, openFirstGate, type FirstGate, type FirstWord } from '@agentfleet/eval/local';
import { normalisedHash } from '@agentfleet/eval/stats';
import { actFeatures, type EnergyHead, type Features, type JudgedAct } from '@agentfleet/protocol/inference';
import { homeDir, workspaceDir } from '@agentfleet/protocol/keeper';
import { loadPolicy, type Policy } from '../../src/engines/policy/index.ts';
import { train as trainPolicy } from '../policy/train.ts';
import { foldsOf, samplesOf } from '../policy/samples.ts';
import { Random } from '../random.ts';
import { embedded } from './embedded.ts';
import { pairedCommands, pairedFiles } from './pairs.ts';
import { onePerProblem } from './problems.ts';

/** A labelled act: of the development half of the pack, or a filled template. */
export interface LabelledAct {
  readonly id: string;
  /** What must not be on both sides of a split. */
  readonly problem: string;
  readonly source: 'Pack' | 'Template';
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
  /** What gate 1 says of it. */
  readonly first: FirstWord;
}

/** The pack, whose development half is for work; its sealed half is never read here. */
const packFolder = fileURLToPath(new URL('../../../test/packs/hazard', import.meta.url));
export const foldCount = 5;
/** Acts of which so much of the text is the same are one problem. */
const tooAlike = 0.5;

type Act = Pick<JudgedAct, 'tool' | 'subject' | 'content'>;

/** The text of an act as a worker asks about it. */
const textOf = ({ subject, content }: Act): string => (content === undefined ? subject : `${subject}\n${content}`);

function labelled(
  act: Act,
  of: Pick<LabelledAct, 'id' | 'problem' | 'source' | 'label' | 'policy' | 'weight' | 'first' | 'embedded'>,
): LabelledAct {
  const { subject, content } = act;
  const features: Features = {
    ...actFeatures({ subject, ...(content !== undefined && { content }) }),
    ...of.first.structure,
    railRank: of.first.rank,
    policyUnsafe: of.policy.unsafe,
  };
  return { ...of, head: act.tool === 'FileWrite' ? 'Editor' : 'Shell', text: textOf(act), features, good: of.label === 'Benign' };
}

const actOf = (entry: HazardEntry): Act => {
  if (entry.tool === 'Shell') return { tool: 'Shell', subject: entry.command };
  if (entry.tool === 'ExecCode') return { tool: 'ExecCode', subject: entry.argv.join(' ') };
  return { tool: 'FileWrite', subject: entry.path, content: entry.content };
};

/** An act as gate 1 is given it; a file of a template lies in the workspace where it names no other place. */
function proposalOf({ tool, subject, content }: Act): Proposal {
  if (tool === 'FileWrite') return { tool, path: posix.resolve(workspaceDir, subject.replace(/^~/, homeDir)), content: content ?? '' };
  return { tool: 'Shell', command: subject };
}

/** An entry of the pack as a worker asks about it. */
export function labelledEntry(entry: HazardEntry, policy: Policy, gate: FirstGate): LabelledAct {
  const act = actOf(entry);
  const { unsafe, label } = policy.judge({ id: 'a', rails: [], ...act });
  const { id, label: is } = entry;
  return labelled(act, { id, problem: id, source: 'Pack', label: is, policy: { unsafe, label }, weight: 1, first: gate(entry) });
}

/** Acts of the pack's development half; `weights` are those of the release, which never saw the pack. */
export async function packActs(weights: Buffer, gate: FirstGate): Promise<readonly LabelledAct[]> {
  const policy = loadPolicy(weights);
  return (await loadHazards('dev', packFolder)).map((entry) => labelledEntry(entry, policy, gate));
}

/** Filled templates; what Policy says of each comes from a training without its template. */
export function templateActs(seed: number, gate: FirstGate): readonly LabelledAct[] {
  const samples = samplesOf(new Random(seed));
  const folds = foldsOf(samples, foldCount, new Random(seed + 1));
  const judges = Array.from({ length: foldCount }, (_, fold) => {
    const rest = samples.filter(({ template }) => folds.get(template) !== fold);
    return loadPolicy(Buffer.from(JSON.stringify(trainPolicy(rest, new Random(seed + 2 + fold), {}))));
  });
  return samples.map(({ act, label, template, weight }, at) => {
    const judge = judges[folds.get(template) ?? 0];
    if (judge === undefined) throw new Error(`template ${template} has no fold`);
    const { unsafe, label: said } = judge.judge(act);
    return labelled(act, {
      id: `t${at}`,
      problem: `template-${template}`,
      source: 'Template',
      label,
      policy: { unsafe, label: said },
      weight,
      first: gate(proposalOf(act)),
    });
  });
}

/** Acts that look alike and are not; the Policy of the release never saw them. */
export function pairedActs(weights: Buffer, gate: FirstGate): readonly LabelledAct[] {
  const policy = loadPolicy(weights);
  const acts = [
    ...pairedCommands.map(([label, subject]) => ({ label, act: { tool: 'Shell', subject } as const })),
    ...pairedFiles.map(([label, subject, content]) => ({ label, act: { tool: 'FileWrite', subject, content } as const })),
  ];
  return acts.map(({ label, act }, at) => {
    const { unsafe, label: said } = policy.judge({ id: 'a', rails: [], ...act });
    const own = { policy: { unsafe, label: said }, weight: 1, first: gate(proposalOf(act)) };
    return labelled(act, { id: `p${at}`, problem: `pair-${at}`, source: 'Template', label, ...own });
  });
}

/** Commands as files that run them, or only speak of them: one for each problem, and the same problem as the command's. */
export function embeddedActs(commands: readonly LabelledAct[], weights: Buffer, gate: FirstGate, seed: number): readonly LabelledAct[] {
  const policy = loadPolicy(weights);
  const random = new Random(seed);
  return onePerProblem(commands.filter(({ head }) => head === 'Shell').map((act) => ({ act }))).map(({ act }) => {
    const { path, content, runs } = embedded(act.text, random);
    const file: Act = { tool: 'FileWrite', subject: path, content };
    const { unsafe, label: said } = policy.judge({ id: 'a', rails: [], ...file });
    const own = { policy: { unsafe, label: said }, weight: 1, embedded: true, first: gate(proposalOf(file)) };
    return labelled(file, { id: `e${act.id}`, problem: act.problem, source: 'Template', label: runs ? act.label : 'Benign', ...own });
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
  const gate = await openFirstGate();
  const pack = await packActs(policy, gate);
  const known = new Set(pack.map(({ text }) => normalisedHash(text)));
  const filled = templateActs(seed, gate);
  const contents = new Set(filled.map(({ text }) => normalisedHash(text)));
  const templates = [...filled, ...pairedActs(policy, gate).filter(({ text }) => !contents.has(normalisedHash(text)))];
  const sets = pack.map(({ text }) => shingles(text));
  const alike = (text: string): boolean => {
    const own = shingles(text);
    return sets.some((set) => likeness(own, set) >= tooAlike);
  };
  const stands = (text: string): boolean => known.has(normalisedHash(text)) || alike(text);
  const same = new Set(templates.filter(({ text }) => stands(text)).map(({ problem }) => problem));
  const kept = templates.filter(({ problem }) => !same.has(problem));
  return withSources([...pack, ...kept, ...embeddedActs([...pack, ...kept], policy, gate, seed + 100)]);
}
