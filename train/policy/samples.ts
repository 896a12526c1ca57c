import { policyLabels, type JudgedAct, type PolicyLabel } from '@agentfleet/protocol/inference';
import type { Random } from '../numeric/random.ts';
import { slots, templates } from './templates/index.ts';

/** Different fillings of one template. */
const perTemplate = 12;

export interface Sample {
  readonly act: JudgedAct;
  readonly label: PolicyLabel;
  /** Names the template; all samples of one are on the same side of a split. */
  readonly template: number;
  /** All samples of a template weigh 1 together: the number of its fillings means nothing. */
  readonly weight: number;
}

/** All templates, filled. Equal seeds give equal samples. */
export function samplesOf(random: Random): readonly Sample[] {
  const samples: Sample[] = [];
  let template = 0;
  const add = (label: PolicyLabel, make: () => Pick<JudgedAct, 'tool' | 'subject' | 'content'>): void => {
    const filled = new Map(Array.from({ length: perTemplate }, () => make()).map((act) => [JSON.stringify(act), act]));
    for (const act of filled.values()) samples.push({ act: { id: 'a', rails: [], ...act }, label, template, weight: 1 / filled.size });
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

/** Fold of each template: of every class its share in each. */
export function foldsOf(samples: readonly Sample[], count: number, random: Random): ReadonlyMap<number, number> {
  const folds = new Map<number, number>();
  for (const label of policyLabels) {
    const own = [...new Set(samples.filter((sample) => sample.label === label).map(({ template }) => template))];
    for (const [at, template] of random.shuffle(own).entries()) folds.set(template, at % count);
  }
  return folds;
}
