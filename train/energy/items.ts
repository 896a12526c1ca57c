import type { Features, ScoreItem } from '@agentfleet/protocol/inference';
import { before, executed, gramsOf, ran, type Grams } from '../../inference-image/src/models/energy/encode.ts';
import { denseInputs } from '../../inference-image/src/models/energy/scorer.ts';
import type { Split, Subject } from '../data/generate.ts';
import { mean } from '@agentfleet/protocol/stats';

/** One labelled candidate. */
export interface Item {
  readonly item: ScoreItem;
  readonly right: boolean;
  /** All tests that the search saw pass. */
  readonly plausible: boolean;
}

/** Candidates of one state in the order of the expert. */
export interface Group {
  readonly problem: string;
  readonly depth: number;
  readonly items: readonly Item[];
}

export function groupsOf(subjects: readonly Subject[], split: Split): Group[] {
  return subjects
    .filter((subject) => subject.split === split)
    .flatMap(({ problem, states }, subject) =>
      states.map(({ depth, tried }, state): Group => {
        const items = tried.map(({ text, operator, features, right, result }, at): Item => {
          const id = `${split}.${subject}.${state}.${at}`;
          const plausible = result === 'Reached' || result === 'NotVerified';
          return { item: { id, head: 'Code', text, operator, features }, right, plausible };
        });
        return { problem, depth, items };
      }),
    );
}

/** The features without what was measured by running. */
export function unexecuted(features: Features): Features {
  return Object.fromEntries(before.flatMap(({ name }) => (features[name] === undefined ? [] : [[name, features[name]]])));
}

/** Returns the spread of the features of the training part; a feature that never varies counts as it is. */
export function spreadOf(items: readonly Item[]): { readonly mean: number[]; readonly deviation: number[]; readonly varies: boolean[] } {
  const columns = before.map(({ name, scale }) =>
    items.flatMap(({ item: { features } }) => (features[name] === undefined ? [] : [scale(features[name])])),
  );
  const means = columns.map((column) => (column.length === 0 ? 0 : mean(column)));
  const deviations = columns.map((column, at) => Math.sqrt(mean(column.map((value) => (value - (means[at] ?? 0)) ** 2))));
  const varies = deviations.map((deviation) => deviation > 1e-6);
  return { mean: means, deviation: deviations.map((deviation, at) => (varies[at] === true ? deviation : 1)), varies };
}

/** An item as the model sees it. */
export interface Encoded {
  readonly grams: Grams;
  readonly dense: readonly number[];
  readonly terms: readonly number[];
  readonly right: boolean;
}

export function encode({ item, right }: Item, spread: Parameters<typeof denseInputs>[0]): Encoded {
  if (!ran(item.features)) throw new Error('an item of the data was not run');
  const terms = executed.map((term) => term.of(item.features) ?? 0);
  return { grams: gramsOf(item), dense: denseInputs(spread, item.features), terms, right };
}
