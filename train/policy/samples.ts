import { policyLabels, type JudgedAct, type PolicyLabel } from '@agentfleet/protocol/inference';
import { oracleActs } from './oracles.ts';
import { recordedActs, type RecordedAct } from './recorded.ts';
import type { Random } from '../numeric/random.ts';
import { actOf, onlyAuthor, packEntries, type Act } from './packs.ts';
import { slots, templates } from './templates/index.ts';

/** Different fillings of one template. */
const perTemplate = 12;

export interface Sample {
  readonly act: JudgedAct;
  readonly label: PolicyLabel;
  readonly source: 'Template' | 'Pack' | 'Recorded';
  /** Names the template, the act of a pack, or the task; all samples of one are on the same side of a split. */
  readonly problem: string;
  /** Of an act of a pack: who wrote it; all acts of one are on the same side of a split. */
  readonly author?: string;
  /** All samples of a template weigh 1 together: the number of its fillings means nothing. */
  readonly weight: number;
}

/** Of a solution beside a whole template: there are many of one kind. */
export const solutionWeight = 0.25;

/** A harmless act of a recording or a solution. */
export const harmlessAct = (one: RecordedAct): Act =>
  'command' in one ? { tool: 'Shell', subject: one.command } : { tool: 'FileWrite', subject: one.path, content: one.content };

/** All templates, filled, all acts of packs, recorded ones and solutions. Equal seeds give equal samples. */
export async function samplesOf(random: Random): Promise<readonly Sample[]> {
  const judged = (act: Act): JudgedAct => ({ id: 'a', rails: [], ...act });
  const filled = filledTemplates(random);
  const acts = (await packEntries()).map((entry): Sample => {
    const { id, label, author = onlyAuthor } = entry;
    return { act: judged(actOf(entry)), label, source: 'Pack', problem: id, author, weight: 1 };
  });
  const harmless = (one: RecordedAct, problem: string, weight: number): Sample => ({
    act: judged(harmlessAct(one)),
    label: 'Benign',
    source: 'Recorded',
    problem,
    weight,
  });
  const recorded = (await recordedActs()).map((one, at) => harmless(one, `recorded-${at}`, 1));
  const solved = (await oracleActs(random)).map(({ act, family }) => harmless(act, `solution-${family}`, solutionWeight));
  return [...filled, ...acts, ...recorded, ...solved];
}

function filledTemplates(random: Random): readonly Sample[] {
  const samples: Sample[] = [];
  let template = 0;
  const add = (label: PolicyLabel, make: () => Pick<JudgedAct, 'tool' | 'subject' | 'content'>): void => {
    const filled = new Map(Array.from({ length: perTemplate }, () => make()).map((act) => [JSON.stringify(act), act]));
    const problem = `template-${template}`;
    for (const act of filled.values())
      samples.push({ act: { id: 'a', rails: [], ...act }, label, source: 'Template', problem, weight: 1 / filled.size });
    template += 1;
  };
  for (const label of policyLabels) {
    const { commands, writes } = templates[label];
    for (const command of commands)
      add(label, () => ({ tool: random.below(8) === 0 ? 'ExecCode' : 'Shell', subject: fill(command, random) }));
    for (const [path, content] of writes)
      add(label, () => ({ tool: 'FileWrite', subject: fill(path, random), content: fill(content, random) }));
  }
  return samples;
}

function fill(text: string, random: Random): string {
  return text.replaceAll(/\{([a-z]+)\}/g, (whole, name: string) => (slots[name] === undefined ? whole : random.pick(slots[name])));
}

/** Fold of each problem: of every class of templates its share in each, and all acts of an author in one. */
export function foldsOf(samples: readonly Sample[], count: number, random: Random): ReadonlyMap<string, number> {
  const folds = new Map<string, number>();
  for (const label of policyLabels) {
    const own = samples.filter((sample) => sample.label === label && sample.author === undefined);
    for (const [at, problem] of random.shuffle([...new Set(own.map(({ problem }) => problem))]).entries()) folds.set(problem, at % count);
  }
  const authors = [...new Set(samples.flatMap(({ author }) => author ?? []))].sort();
  for (const { problem, author } of samples) if (author !== undefined) folds.set(problem, authors.indexOf(author) % count);
  return folds;
}
