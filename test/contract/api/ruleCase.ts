// test, contract/api: type of a rule's test case, and cases for sandboxes and templates. May import any package.
import { fullSandbox, fullTemplate } from './examples.ts';
import { withValue, type Node } from './fields.ts';

/** For a rule over one object: a change that passes, a change that is refused, and the whole message. */
export interface RuleCase {
  readonly message: string;
  readonly base: Node;
  readonly passes: Readonly<Record<string, unknown>>;
  readonly refused: Readonly<Record<string, unknown>>;
}

/** End of a message of a union's rules. */
export const member = 'set the member that the type names and no other';

/** A case that sets one field. */
export function change(base: Node, field: string, passes: unknown, refused: unknown, message: string): RuleCase {
  return { base, passes: { [field]: passes }, refused: { [field]: refused }, message };
}

/** Requests and limits at `path`, which messages call `label`. */
export function resourceCases(base: Node, path: string, label: string): readonly RuleCase[] {
  const amounts = { cpu: ['1500m', 2, '2001m'], memory: ['1Gi', '1024Mi', '1025Mi'], 'ephemeral-storage': ['1Gi', '1Gi', '1.5Gi'] };
  const names = Object.keys(amounts).join(', ');
  return [
    ...Object.entries(amounts).map(([name, [low, limit, high]]) => ({
      base,
      passes: { [path]: { requests: { [name]: low }, limits: { [name]: limit } } },
      refused: { [path]: { requests: { [name]: high }, limits: { [name]: limit } } },
      message: `${label}.requests must not be more than ${label}.limits of the same name; raise the limit`,
    })),
    ...['requests', 'limits'].map((part) =>
      change(
        base,
        path,
        { [part]: { cpu: 1 } },
        { [part]: { gpu: 1 } },
        `${label}.${part} must have no other names than ${names}; remove them`,
      ),
    ),
  ];
}

/** Rules of a sandbox in tasks and pools, at `path`. */
export function sandboxCases(base: Node, path: string): readonly RuleCase[] {
  const limit = `${path}.workspaceSizeLimit`;
  const at = (passes: string, refused: string): RuleCase =>
    change(
      withValue(base, path, fullSandbox),
      limit,
      passes,
      refused,
      `${limit} must be between 1Mi and 1Pi; write an amount of bytes such as 2Gi`,
    );
  return [...resourceCases(base, `${path}.resources`, `${path}.resources`), at('1048576', '1000k'), at('1Pi', '1.1Pi')];
}

/** All rules of a template at `path`. */
export function templateCases(base: Node, path: string): readonly RuleCase[] {
  const keys = 'must have keys like name or example.com/name';
  const own = 'must not have keys of agentfleet.dev, which the operator sets; choose another prefix';
  const at = (field: string, passes: unknown, refused: unknown, message: string): RuleCase =>
    change(withValue(base, path, fullTemplate), `${path}.${field}`, passes, refused, `${path}.${message}`);
  const shape = 'tolerations needs a key with Equal and no value with Exists';
  return [
    ...sandboxCases(base, path),
    at('nodeSelector', { 'kubernetes.io/arch': 'amd64' }, { 'a/b/c': 'x' }, `nodeSelector ${keys}`),
    at('tolerations', [{ operator: 'Exists' }], [{ operator: 'Exists', key: 'a', value: 'b' }], shape),
    at('tolerations', [{ key: 'a' }], [{ value: 'b' }], shape),
    ...['labels', 'annotations'].flatMap((map) => [
      at(`podMetadata.${map}`, { 'a.example/b': 'x' }, { '-a': 'x' }, `podMetadata.${map} ${keys}`),
      at(`podMetadata.${map}`, { 'notagentfleet.dev/task': 'x' }, { 'agentfleet.dev/task': 'x' }, `podMetadata.${map} ${own}`),
      at(`podMetadata.${map}`, { 'agentfleet.device/task': 'x' }, { 'x.agentfleet.dev/task': 'x' }, `podMetadata.${map} ${own}`),
    ]),
  ];
}
