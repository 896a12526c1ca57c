import { fileURLToPath } from 'node:url';
import { likeness, loadHazards, shingles, type HazardEntry } from '@agentfleet/eval/judgements';
import { openFirstGate, type FirstGate, type FirstWord } from '@agentfleet/eval/local';
import { normalisedHash } from '@agentfleet/eval/stats';
import { actFeatures, type EnergyHead, type Features, type JudgedAct } from '@agentfleet/protocol/inference';
import { loadPolicy, type Policy } from '../../src/engines/policy/index.ts';
import { train as trainPolicy } from '../policy/train.ts';
import { foldsOf, samplesOf } from '../policy/samples.ts';
import { Random } from '../random.ts';
import { pairedCommands, pairedFiles } from './pairs.ts';

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
  /** What gate 1 says of an act of the pack. */
  readonly first?: FirstWord;
}

/** The pack, whose development half is for work; its sealed half is never read here. */
const packFolder = fileURLToPath(new URL('../../../test/packs/hazard', import.meta.url));
export const foldCount = 5;
/** Acts of which so much of the text is the same are one problem. */
const tooAlike = 0.5;

type Act = Pick<JudgedAct, 'tool' | 'subject' | 'content'>;

/** The text of an act as a worker asks about it. */
const textOf = ({ subject, content }: Act): string => (content === undefined ? subject : `${subject}\n${content}`);

function labelled(act: Act, of: Pick<LabelledAct, 'id' | 'problem' | 'source' | 'label' | 'policy' | 'weight' | 'first'>): LabelledAct {
  const { subject, content } = act;
  const features: Features = {
    ...actFeatures({ subject, ...(content !== undefined && { content }) }),
    policyUnsafe: of.policy.unsafe,
  };
  return { ...of, head: act.tool === 'FileWrite' ? 'Editor' : 'Shell', text: textOf(act), features, good: of.label === 'Benign' };
}

const actOf = (entry: HazardEntry): Act => {
  if (entry.tool === 'Shell') return { tool: 'Shell', subject: entry.command };
  if (entry.tool === 'ExecCode') return { tool: 'ExecCode', subject: entry.argv.join(' ') };
  return { tool: 'FileWrite', subject: entry.path, content: entry.content };
};

/** An entry of the pack as a worker asks about it. */
export function labelledEntry(entry: HazardEntry, policy: Policy, gate: FirstGate): LabelledAct {
  const act = actOf(entry);
  const { unsafe, label } = policy.judge({ id: 'a', rails: [], ...act });
  const { id, label: is } = entry;
  return labelled(act, { id, problem: id, source: 'Pack', label: is, policy: { unsafe, label }, weight: 1, first: gate(entry) });
}

/** Acts of the pack's development half; `weights` are those of the release, which never saw the pack. */
export async function packActs(weights: Buffer): Promise<readonly LabelledAct[]> {
  const policy = loadPolicy(weights);
  const gate = await openFirstGate();
  return (await loadHazards('dev', packFolder)).map((entry) => labelledEntry(entry, policy, gate));
}

/** Filled templates; what Policy says of each comes from a training without its template. */
export function templateActs(seed: number): readonly LabelledAct[] {
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
    });
  });
}

/** Acts that look alike and are not; the Policy of the release never saw them. */
export function pairedActs(weights: Buffer): readonly LabelledAct[] {
  const policy = loadPolicy(weights);
  const acts = [
    ...pairedCommands.map(([label, subject]) => ({ label, act: { tool: 'Shell', subject } as const })),
    ...pairedFiles.map(([label, subject, content]) => ({ label, act: { tool: 'FileWrite', subject, content } as const })),
  ];
  return acts.map(({ label, act }, at) => {
    const { unsafe, label: said } = policy.judge({ id: 'a', rails: [], ...act });
    return labelled(act, { id: `p${at}`, problem: `pair-${at}`, source: 'Template', label, policy: { unsafe, label: said }, weight: 1 });
  });
}

/** All acts that are learned from. A template of which a filling is an act of the pack goes: it would stand on both sides of a split. */
export async function allActs(policy: Buffer, seed: number): Promise<readonly LabelledAct[]> {
  const pack = await packActs(policy);
  const known = new Set(pack.map(({ text }) => normalisedHash(text)));
  const filled = templateActs(seed);
  const contents = new Set(filled.map(({ text }) => normalisedHash(text)));
  const templates = [...filled, ...pairedActs(policy).filter(({ text }) => !contents.has(normalisedHash(text)))];
  const sets = pack.map(({ text }) => shingles(text));
  const alike = (text: string): boolean => {
    const own = shingles(text);
    return sets.some((set) => likeness(own, set) >= tooAlike);
  };
  const stands = (text: string): boolean => known.has(normalisedHash(text)) || alike(text);
  const same = new Set(templates.filter(({ text }) => stands(text)).map(({ problem }) => problem));
  return [...pack, ...templates.filter(({ problem }) => !same.has(problem))];
}
