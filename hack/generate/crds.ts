import { customResourceDefinition, group, kindReference, kinds, policies, policyManifests } from '@agentfleet/protocol/api';
import { banner, yaml } from './yaml.ts';

/** CRDs, admission policies and the reference page: path from the repository's root → content. */
export function apiFiles(): ReadonlyMap<string, string> {
  return new Map([
    ...kinds.map((kind) => [`crds/${group}_${kind.plural}.yaml`, banner + yaml(customResourceDefinition(kind))] as const),
    ...policies.map((policy) => [`crds/policies/${policy.name}.yaml`, banner + policyManifests(policy).map(yaml).join('---\n')] as const),
    ['docs/reference/api.md', apiReferencePage()] as const,
  ]);
}

function apiReferencePage(): string {
  return [
    '<!-- Made by `npm run generate` from protocol/src/api. -->',
    '# Custom resources',
    '',
    'Group `agentfleet.dev`, version `v1alpha1`, namespaced. There are no floats: fractions are decimal strings.',
    'Mutable: *upward* numbers only grow, *forward* values only move to a later one of the list; what is not mutable needs a new object.',
    '',
    ...kinds.flatMap(kindReference),
    '## Admission policies',
    '',
    ...policies.flatMap((policy) => [
      `### ${policy.name}`,
      '',
      policy.purpose,
      '',
      ...policy.validations.map(({ message }) => `- ${message}`),
      '',
    ]),
  ].join('\n');
}
