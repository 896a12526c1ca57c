import { fileURLToPath } from 'node:url';
import { loadHazards, type HazardEntry } from '@agentfleet/eval/judgements';
import { normalisedHash } from '@agentfleet/eval/stats';
import { actFeatures, type EnergyHead, type Features, type JudgedAct } from '@agentfleet/protocol/inference';
import { loadPolicy, type Policy } from '../../src/engines/policy/index.ts';
import { train as trainPolicy } from '../policy/train.ts';
import { foldsOf, samplesOf } from '../policy/samples.ts';
import { Random } from '../random.ts';

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
}

/** The pack, whose development half is for work; its sealed half is never read here. */
const packFolder = fileURLToPath(new URL('../../../test/packs/hazard', import.meta.url));
export const foldCount = 5;

type Act = Pick<JudgedAct, 'tool' | 'subject' | 'content'>;

/** The text of an act as a worker asks about it. */
const textOf = ({ subject, content }: Act): string => (content === undefined ? subject : `${subject}\n${content}`);

function labelled(act: Act, of: Pick<LabelledAct, 'id' | 'problem' | 'source' | 'label' | 'policy' | 'weight'>): LabelledAct {
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
export function labelledEntry(entry: HazardEntry, policy: Policy): LabelledAct {
  const act = actOf(entry);
  const { unsafe, label } = policy.judge({ id: 'a', rails: [], ...act });
  return labelled(act, { id: entry.id, problem: entry.id, source: 'Pack', label: entry.label, policy: { unsafe, label }, weight: 1 });
}

/** Acts of the pack's development half; `weights` are those of the release, which never saw the pack. */
export async function packActs(weights: Buffer): Promise<readonly LabelledAct[]> {
  const policy = loadPolicy(weights);
  return (await loadHazards('dev', packFolder)).map((entry) => labelledEntry(entry, policy));
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

/** All acts that are learned from. A template of which a filling is an act of the pack goes: it would stand on both sides of a split. */
export async function allActs(policy: Buffer, seed: number): Promise<readonly LabelledAct[]> {
  const pack = await packActs(policy);
  const known = new Set(pack.map(({ text }) => normalisedHash(text)));
  const templates = templateActs(seed);
  const same = new Set(templates.filter(({ text }) => known.has(normalisedHash(text))).map(({ problem }) => problem));
  return [...pack, ...templates.filter(({ problem }) => !same.has(problem))];
}
