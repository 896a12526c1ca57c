import { labelMatcher } from '@agentfleet/kube';
import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import type { NetworkPolicy, Pod } from '../../runtime/resources.ts';
import { mergedTemplate } from './sandboxBounds.ts';
import { sandboxNetworkPolicy } from './sandboxPod.ts';

/** Reason of a task whose wall somebody's NetworkPolicy opens, and the type of its condition. */
export const networkOpened = 'NetworkOpened';

/** A NetworkPolicy that lets more in or out of a sandbox than its wall. */
export interface Opening {
  readonly policy: string;
  readonly adds: 'ingress' | 'egress' | 'ingress and egress';
}

const wall = sandboxNetworkPolicy('', []).metadata?.name;

/** Labels that the pod of a task has, or will have. */
function labelsOf(task: AgentTask, pool: ExpertPool | undefined, pods: readonly Pod[]): readonly Readonly<Record<string, string>>[] {
  if (pods.length > 0) return pods.map(({ metadata }) => metadata.labels ?? {});
  if (pool === undefined) return [];
  const own = mergedTemplate(task, pool).podMetadata?.labels;
  return [{ ...own, [labels.component]: 'sandbox', [labels.task]: task.metadata.name, [labels.pool]: pool.metadata.name }];
}

/**
 * The policies of a namespace that open the sandbox of a task: what NetworkPolicies allow adds up, so that each one that
 * selects the pod and has a rule is a way past the wall. One without rules takes nothing away and adds nothing. Pure.
 */
export function openingsOf(
  policies: readonly NetworkPolicy[],
  { task, pool, pods }: { readonly task: AgentTask; readonly pool: ExpertPool | undefined; readonly pods: readonly Pod[] },
): readonly Opening[] {
  if (policies.length === 0) return [];
  const sandboxes = labelsOf(task, pool, pods).map((own) => ({ metadata: { name: '', labels: own } }));
  return policies
    .filter(({ metadata }) => metadata.name !== wall)
    .flatMap(({ metadata, spec }): Opening[] => {
      const adds = added(spec);
      const selects = labelMatcher(spec?.podSelector ?? {});
      return adds === undefined || !sandboxes.some(selects) ? [] : [{ policy: metadata.name, adds }];
    })
    .sort((a, b) => (a.policy < b.policy ? -1 : 1));
}

function added(spec: NetworkPolicy['spec']): Opening['adds'] | undefined {
  const { ingress = [], egress = [], policyTypes = [] } = spec ?? {};
  // Rules of a direction that the policy does not speak of do not count.
  const speaksOf = (type: 'Ingress' | 'Egress'): boolean => policyTypes.length === 0 || policyTypes.includes(type);
  const [inward, outward] = [ingress.length > 0 && speaksOf('Ingress'), egress.length > 0 && speaksOf('Egress')];
  if (inward && outward) return 'ingress and egress';
  if (inward) return 'ingress';
  return outward ? 'egress' : undefined;
}

const named = 3;

/** What opens the wall, and how it is closed. */
export function openedMessage({ metadata: { namespace = '' } }: AgentTask, openings: readonly Opening[]): string {
  const first = openings.slice(0, named).map(({ policy, adds }) => `${namespace}/${policy} (${adds})`);
  const more = openings.length > named ? ` and ${openings.length - named} more` : '';
  return `NetworkPolicy ${first.join(', ')}${more} selects the sandbox and opens its wall; let spec.podSelector.matchExpressions have {key: ${labels.component}, operator: NotIn, values: [sandbox]}, or set spec.policy.allowUnenforcedNetwork of the pool`;
}
