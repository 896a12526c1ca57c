// operator/kube, api: label selectors and the test of labels against them. Imports nothing of other folders.
import type { KubeObject } from './resource.ts';

/** `metav1.LabelSelectorRequirement`. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

/** `metav1.LabelSelector`. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelRequirement[];
}

type Labels = Readonly<Record<string, string>>;

/** All requirements of a selector as one list; an empty selector matches everything. */
export function requirementsOf(selector: LabelSelector): readonly LabelRequirement[] {
  const equal = Object.entries(selector.matchLabels ?? {}).map(([key, value]): LabelRequirement => ({
    key,
    operator: 'In',
    values: [value],
  }));
  return [...equal, ...(selector.matchExpressions ?? [])];
}

/** Reports whether labels satisfy every requirement. A missing key satisfies NotIn, as in apimachinery. */
export function matchesLabels(labels: Labels | undefined, requirements: readonly LabelRequirement[]): boolean {
  return requirements.every((requirement) => satisfies(labels?.[requirement.key], requirement));
}

function satisfies(value: string | undefined, { operator, values = [] }: LabelRequirement): boolean {
  if (operator === 'In') return value !== undefined && values.includes(value);
  if (operator === 'NotIn') return value === undefined || !values.includes(value);
  return (value !== undefined) === (operator === 'Exists');
}

/** A predicate over objects. */
export function labelMatcher(selector: LabelSelector): (object: KubeObject) => boolean {
  const requirements = requirementsOf(selector);
  return (object) => matchesLabels(object.metadata.labels, requirements);
}
