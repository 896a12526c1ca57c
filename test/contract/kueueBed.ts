// Kueue's own definitions and the documented objects, for tests on a real API server.
import { readdir, readFile } from 'node:fs/promises';
import { findCondition, type Condition, type KubeObject } from '@agentfleet/kube';
import { load, loadAll } from 'js-yaml';
import { moduleDir } from '../../hack/cluster/build/binaries.ts';
import { resources, type Workload } from '../../operator/src/runtime/resources.ts';
import { until, type Server } from './api/server.ts';
import type { TaskBed } from './taskBed.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The label that the tests set. */
export const inQueue = { 'kueue.x-k8s.io/queue-name': 'tasks' };

/** Usage of one attempt, as its worker reports it. */
export const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 3, cpuMillis: 40, wallSeconds: 5, candidates: 6, vetoes: 0, backtracks: 1 };

/** Installs Kueue's definitions, which come from its module by the hash of go.sum; the returned function removes new ones. */
export async function serveKueue(server: Server): Promise<() => Promise<void>> {
  const folder = `${await moduleDir('kueue')}/config/components/crd/bases`;
  const made: string[] = [];
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.yaml'))) {
    const definition = load(await readFile(`${folder}/${file}`, 'utf8')) as KubeObject;
    const { name } = definition.metadata;
    const { status, body } = await server.ask('POST', definitions, { body: definition });
    if (status === 201) made.push(name);
    else if (status !== 409) throw new Error(`${name}: ${body.message}`);
    await until(`${name} is served`, async () => {
      const { body: found } = await server.ask('GET', `${definitions}/${name}`);
      return findCondition(found.status?.['conditions'] as Condition[] | undefined, 'Established')?.status === 'True';
    });
  }
  // Established is set before the first request is answered, and a cache that gets 404 retries much later.
  for (const plural of ['workloads', 'resourceflavors'])
    await until(`${plural} answer`, async () => (await server.ask('GET', `/apis/kueue.x-k8s.io/v1beta2/${plural}`)).status === 200);
  return async () => {
    for (const name of made) await server.ask('DELETE', `${definitions}/${name}`);
  };
}

/** Applies the documented objects in the namespace of the test; the task is separate. */
export async function documented(namespace: string): Promise<{ readonly queues: readonly KubeObject[]; readonly task: KubeObject }> {
  const page = await readFile(new URL('../../docs/howto.md', import.meta.url), 'utf8');
  const [, text = ''] = /## Wait for quota of Kueue[\s\S]*?```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const objects = loadAll(text.replaceAll('namespace: demo', `namespace: ${namespace}`)) as KubeObject[];
  const task = objects.find(({ kind }) => kind === 'AgentTask')!;
  return { queues: objects.filter((object) => object !== task), task };
}

async function applyStrictly(server: Server, object: KubeObject): Promise<void> {
  const { name, namespace } = object.metadata;
  const home = namespace === undefined ? `/apis/${object.apiVersion}` : `/apis/${object.apiVersion}/namespaces/${namespace}`;
  const path = `${home}/${(object.kind ?? '').toLowerCase()}s/${name}?fieldManager=contract&force=true&fieldValidation=Strict`;
  const { status, body } = await server.ask('PATCH', path, { body: object, type: 'application/apply-patch+yaml' });
  if (status > 201) throw new Error(`${path}: ${body.message}`);
}

/** Applies the queues that the documentation shows. */
export async function applyQueues(server: Server, namespace: string): Promise<void> {
  for (const object of (await documented(namespace)).queues) await applyStrictly(server, object);
}

/** The Workload of a task. */
export async function workloadOf(bed: TaskBed, task: string): Promise<Workload | undefined> {
  const found = await bed.client(resources.workloads).list({ namespace: bed.namespace, labelSelector: `agentfleet.dev/task=${task}` });
  return found.find(({ metadata }) => metadata.deletionTimestamp === undefined);
}
