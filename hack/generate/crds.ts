import { customResourceDefinition, group, kindReference, kinds, policies, policyManifests } from '@agentfleet/protocol/api';
import { dump } from 'js-yaml';
import * as keeper from '@agentfleet/protocol/keeper';

/** JSON Schemas of the keeper's request bodies and queries, for clients in other languages. */
export function keeperSchemas(): string {
  const { ExecRequest, SnapshotRequest, RangeQuery, FileQuery, ReplaceRequest, PatchRequest, TreeQuery, NoteRequest, ErrorBody } = keeper;
  const { AstEditRequest, LinesQuery, ListQuery, OutputQuery, SearchQuery, SecretsRequest } = keeper;
  const { SessionRequest, SessionRunRequest, StdinQuery, TerminalSize, WaitQuery } = keeper;
  const live = { StdinQuery, TerminalSize, WaitQuery, SessionRequest, SessionRunRequest };
  const files = { FileQuery, LinesQuery, ListQuery, SearchQuery, ReplaceRequest, AstEditRequest, PatchRequest, TreeQuery };
  const schemas = { ExecRequest, OutputQuery, ...live, SnapshotRequest, RangeQuery, ...files, SecretsRequest, NoteRequest, ErrorBody };
  return `${JSON.stringify({ $comment: 'Made by `npm run generate` from protocol/src/keeper.', schemas }, null, 2)}\n`;
}

/** First line of generated YAML. */
export const banner = '# Made by `npm run generate` from protocol/src/api.\n';

/** A manifest as YAML, the same each time. */
export function yaml(value: unknown): string {
  return dump(value, { lineWidth: 140, noRefs: true });
}

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
