import { readFileSync } from 'node:fs';
import type { SeenRequest, Verb } from '@agentfleet/kube/testing';
import type { V1PolicyRule } from '@kubernetes/client-node';
import { load } from 'js-yaml';

const file = new URL('../../../charts/agentfleet/files/operator-rules.yaml', import.meta.url);

/** Reports whether the chart lets the operator make this request. */
export type MayDo = (request: Pick<SeenRequest, 'verb' | 'resource' | 'subresource' | 'namespace' | 'name'>) => boolean;

/** Returns the RBAC verb for a verb of the fake server; to apply is to patch. An apply that makes an object also needs `create`. */
const verbOf = (verb: Verb): string => (verb === 'apply' ? 'patch' : verb);

/** Reads the rules that the chart gives to the operator; where it watches some namespaces, most of them hold in these alone. */
export function operatorRules(watched?: readonly string[]): MayDo {
  const rules = load(readFileSync(file, 'utf8')) as Record<'cluster' | 'namespaces' | 'namespaced', readonly V1PolicyRule[]>;
  const everywhere = [...rules.cluster, ...rules.namespaces];
  const all = [...everywhere, ...rules.namespaced];
  const known = new Map<string, boolean>();
  const look = ({ verb, resource, subresource, namespace = '', name }: Parameters<MayDo>[0]): boolean => {
    const [plural = '', ...group] = resource.split('.');
    const whole = subresource === '' ? plural : `${plural}/${subresource}`;
    return (watched === undefined || watched.includes(namespace) ? all : everywhere).some(
      (rule) =>
        rule.apiGroups?.includes(group.join('.')) === true &&
        rule.resources?.includes(whole) === true &&
        rule.verbs.includes(verbOf(verb)) &&
        (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name))),
    );
  };
  return (request) => {
    const key = JSON.stringify([request.verb, request.resource, request.subresource, request.namespace ?? '', request.name ?? '']);
    const answer = known.get(key) ?? look(request);
    known.set(key, answer);
    return answer;
  };
}
