// Attacks of an editor on the pods of sandboxes, replayed: a label that the editor's NetworkPolicy selects, a policy
// for all pods, and a planted pod that looks like a waiting sandbox.
import { describe, expect, test } from 'vitest';
import { condition, useFleet, type Pod } from './fleet.ts';
import { oneBug } from './repositories.ts';

const fleet = useFleet('pods');

const label = 'app.example.com/open';
const everybody = { policyTypes: ['Ingress', 'Egress'], ingress: [{}], egress: [{}] };

function allow(name: string, podSelector: object): Promise<void> {
  const metadata = { name, namespace: fleet.namespace };
  return fleet.kubectl.apply({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: { podSelector, ...everybody } });
}

const sandboxes = async (): Promise<readonly Pod[]> => {
  const of = ['-n', fleet.namespace, 'get', 'pods', '-l', 'agentfleet.dev/component=sandbox'];
  return (await fleet.kubectl.json<{ readonly items: readonly Pod[] }>(of)).items;
};

describe('a NetworkPolicy of the tenant', () => {
  test('gets no hold of a sandbox by a label, which a task cannot set', async () => {
    const labelled = fleet.task('labelled', oneBug, { sandbox: { podMetadata: { labels: { [label]: 'true' } } } });
    await expect(labelled).rejects.toThrow(/podMetadata/);
    expect(await sandboxes()).toEqual([]);
  });

  test('that lets all pods do anything keeps tasks from beginning, until it leaves sandboxes out', async () => {
    await allow('allow-all', {});
    await fleet.task('opened', oneBug);
    const open = await fleet.until('opened', 'says so', 30, (task) => condition(task, 'NetworkOpened')?.status === 'True');
    expect(condition(open, 'Accepted')).toMatchObject({ status: 'False', reason: 'NetworkOpened' });
    expect(condition(open, 'NetworkOpened')?.message).toContain('allow-all (ingress and egress)');
    expect(await sandboxes()).toEqual([]);
    await allow('allow-all', { matchExpressions: [{ key: 'agentfleet.dev/component', operator: 'NotIn', values: ['sandbox'] }] });
    const task = await fleet.finished('opened');
    expect(task.status?.phase, await fleet.explain('opened')).toBe('Succeeded');
    expect(task.status?.run?.isolation?.network).toBe('Enforced');
    expect(condition(task, 'NetworkOpened')).toBeUndefined();
  });
});

describe('a planted pod', () => {
  test('with all marks of a waiting sandbox is used by no task, and is removed', async () => {
    const warm = { warm: [{ namespace: fleet.namespace, replicas: 1 }] };
    await fleet.run('patch', 'expertpool', 'pool', '--type=merge', '-p', JSON.stringify({ spec: { sandbox: warm } }));
    const ready = await waiting(
      (pod) => pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
    );
    const service = ['-n', fleet.system, 'get', 'service', 'agentfleet-operator-metrics', '-o', 'jsonpath={.spec.clusterIP}'];
    const sentinel = { name: 'AGENTFLEET_PROBE_SENTINEL', value: `sentinel=${(await fleet.kubectl.text(service)).trim()}:8080` };
    expect(JSON.stringify(ready.spec), 'its keeper tries a pod of another namespace').toContain(JSON.stringify(sentinel));
    const { labels = {}, annotations = {} } = ready.metadata;
    const metadata = { name: 'a-planted-one', namespace: fleet.namespace, labels, annotations };
    const container = { name: 'keeper', image: ready.spec?.containers?.[0]?.image, command: ['sleep', '600'] };
    const secure = {
      allowPrivilegeEscalation: false,
      runAsNonRoot: true,
      runAsUser: 10_001,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    };
    const containers = ['keeper', 'tools'].map((name) => ({ ...container, name, securityContext: secure }));
    // As an administrator: others do not pass the admission policy.
    await fleet.kubectl.apply({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers } });
    await fleet.task('warmed', oneBug);
    const task = await fleet.finished('warmed');
    expect(task.status?.phase, await fleet.explain('warmed')).toBe('Succeeded');
    const used = fleet.tasks.named('warmed').map(({ status }) => status?.assignment?.sandbox);
    expect(used).not.toContain('a-planted-one');
    await fleet.run('wait', '--for=delete', 'pod/a-planted-one', '--timeout=240s');
  });
});

/** The first waiting sandbox that satisfies the predicate; the test's own time is the limit. */
async function waiting(holds: (pod: Pod) => boolean): Promise<Pod> {
  for (;;) {
    const found = (await sandboxes()).find((pod) => pod.metadata.labels?.['agentfleet.dev/warm'] === 'true' && holds(pod));
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
