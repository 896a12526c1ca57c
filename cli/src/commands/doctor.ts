import { isApiError } from '@agentfleet/kube';
import { group, kinds, policies, version as apiOf } from '@agentfleet/protocol/api';
import { CliError } from '../base/failure.ts';
import { table, objectLines, paint, plural, type Format } from '../text/format.ts';
import type { CommandContext } from './command.ts';
import { meaningOf } from './explain.ts';

/** Finding of one look at the cluster. */
export interface Finding {
  readonly check: string;
  readonly state: 'OK' | 'WARN' | 'FAIL';
  readonly message: string;
  readonly cure?: string;
}

interface Item {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly creationTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly provisioner?: string;
  readonly spec?: {
    readonly replicas?: number;
    readonly workers?: { readonly replicas?: number };
    readonly storageClassName?: string;
  };
  readonly status?: {
    readonly phase?: string;
    readonly readyReplicas?: number;
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly run?: { readonly isolation?: { readonly network: string } };
  };
}

type Answer<T> = { readonly value: T } | { readonly code: number };
type Ask = <T>(path: string) => Promise<Answer<T>>;
type List = { readonly items?: readonly Item[]; readonly metadata?: { readonly continue?: string } };

/** Asks the cluster; 403 and 404 are answers. */
const asking =
  ({ transport, signal }: CommandContext): Ask =>
  async <T>(path: string) => {
    const [plain = '', search = ''] = path.split('?');
    try {
      return {
        value: await transport.request<T>({ method: 'GET', path: plain, query: Object.fromEntries(new URLSearchParams(search)), signal }),
      };
    } catch (error) {
      if (isApiError(error) && (error.code === 403 || error.code === 404)) return { code: error.code };
      throw error;
    }
  };

const unseen = (check: string, what: string, { code }: { readonly code: number }): Finding => ({
  check,
  state: 'WARN',
  message:
    code === 404
      ? `the cluster does not serve ${what.replace(' of all namespaces', '')}`
      : `you may not list ${what}, so this is not known`,
  cure: code === 404 ? 'install the chart' : 'run it as a cluster administrator, who alone can give that right too',
});

/** The oldest minor version on which admission policies and CEL rules of the definitions hold. */
const oldestMinor = 32;

async function server(ask: Ask): Promise<readonly Finding[]> {
  const answer = await ask<{ readonly gitVersion: string; readonly minor: string }>('/version');
  if (!('value' in answer)) return [unseen('API server', 'its version', answer)];
  const { gitVersion, minor } = answer.value;
  if (Number.parseInt(minor, 10) >= oldestMinor) return [{ check: 'API server', state: 'OK', message: `Kubernetes ${gitVersion}` }];
  return [
    { check: 'API server', state: 'WARN', message: `Kubernetes ${gitVersion} is older than 1.${oldestMinor}`, cure: 'upgrade the cluster' },
  ];
}

async function definitions(ask: Ask): Promise<readonly Finding[]> {
  const check = 'Definitions';
  const answer = await ask<{ readonly resources?: readonly { readonly name: string }[] }>(`/apis/${group}/${apiOf}`);
  const found = new Set('value' in answer ? (answer.value.resources ?? []).map(({ name }) => name) : []);
  const missing = kinds.map(({ plural }) => plural).filter((plural) => !found.has(plural));
  if (missing.length === 0) return [{ check, state: 'OK', message: `${group}/${apiOf} serves ${kinds.length} kinds` }];
  const message = `${group}/${apiOf} does not serve ${missing.join(', ')}`;
  return [{ check, state: 'FAIL', message, cure: 'install or upgrade the chart: helm upgrade --install agentfleet charts/agentfleet' }];
}

/** Without them, any worker may write any status, and a task may name and change what the rules of its spec refuse. */
async function admission(ask: Ask): Promise<readonly Finding[]> {
  const check = 'Admission policies';
  const answer = await ask<List>('/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings');
  if (!('value' in answer)) return [unseen(check, 'ValidatingAdmissionPolicyBindings', answer)];
  const bound = new Set((answer.value.items ?? []).map(({ metadata }) => metadata.name));
  const missing = policies.map(({ name }) => `${name}.${group}`).filter((name) => !bound.has(name));
  if (missing.length === 0) return [{ check, state: 'OK', message: `${policies.length} are in force` }];
  const cure = 'install or upgrade the chart, or apply crds/policies: tasks are not held to their rules without them';
  return [{ check, state: 'FAIL', message: `not in force: ${missing.join(', ')}`, cure }];
}

async function operator(ask: Ask): Promise<readonly Finding[]> {
  const check = 'Operator';
  const selector = encodeURIComponent('app.kubernetes.io/name=agentfleet,app.kubernetes.io/component=operator');
  const answer = await ask<List>(`/apis/apps/v1/deployments?labelSelector=${selector}`);
  if (!('value' in answer)) return [unseen(check, 'Deployments', answer)];
  const [found] = answer.value.items ?? [];
  if (found === undefined) return [{ check, state: 'FAIL', message: 'there is no Deployment of it', cure: 'install the chart' }];
  const { name, namespace = '', labels = {} } = found.metadata;
  const ready = found.status?.readyReplicas ?? 0;
  const what = `${namespace}/${name} ${labels['app.kubernetes.io/version'] ?? ''}`.trim();
  if (ready > 0) return [{ check, state: 'OK', message: `${what}, ${ready} of ${found.spec?.replicas ?? 1} ready` }];
  return [
    { check, state: 'FAIL', message: `${what} is not ready`, cure: `see kubectl -n ${namespace} describe deployment ${name}, and its log` },
  ];
}

async function aggregation(ask: Ask): Promise<readonly Finding[]> {
  const check = 'Aggregated APIs';
  const answer = await ask<List>('/apis/apiregistration.k8s.io/v1/apiservices');
  if (!('value' in answer))
    return [
      answer.code === 404
        ? { check, state: 'WARN', message: 'the API server has no aggregation layer' }
        : unseen(check, 'APIServices', answer),
    ];
  const down = (answer.value.items ?? []).filter(({ status }) =>
    status?.conditions?.some(({ type, status: state }) => type === 'Available' && state === 'False'),
  );
  if (down.length === 0) return [{ check, state: 'OK', message: 'all are available' }];
  const names = down.map(({ metadata }) => metadata.name).join(', ');
  return [{ check, state: 'WARN', message: `not available: ${names}`, cure: 'mend or delete them: they slow the deletion of namespaces' }];
}

/** The newest task whose sandbox found this of its network, as `namespace/name`, and when it was created. */
interface Probed {
  readonly task: string;
  readonly at: string;
}

function newestOf(before: Probed | undefined, items: readonly Item[], found: string): Probed | undefined {
  return items
    .filter(({ status }) => status?.run?.isolation?.network === found)
    .map(({ metadata: { name, namespace = '', creationTimestamp: at = '' } }) => ({ task: `${namespace}/${name}`, at }))
    .reduce<Probed | undefined>((newest, one) => (newest === undefined || one.at > newest.at ? one : newest), before);
}

/** Pages of tasks that are looked at: a fleet may have a hundred thousand. */
const mostPages = 20;

async function network(ask: Ask): Promise<readonly Finding[]> {
  const check = 'NetworkPolicy';
  let [holds, open]: (Probed | undefined)[] = [];
  let next = '';
  for (let page = 0; page < mostPages && (page === 0 || next !== ''); page++) {
    const answer = await ask<List>(`/apis/${group}/${apiOf}/agenttasks?limit=500&continue=${encodeURIComponent(next)}`);
    if (!('value' in answer)) return [unseen(check, 'AgentTasks of all namespaces', answer)];
    const { items = [], metadata }: List = answer.value;
    [holds, open] = [newestOf(holds, items, 'Enforced'), newestOf(open, items, 'NotEnforced')];
    next = metadata?.continue ?? '';
  }
  if (open === undefined && holds === undefined)
    return [{ check, state: 'WARN', message: 'no sandbox has tried it yet', cure: 'run a task, which tries it from inside' }];
  const of = next === '' ? '' : `, of the first ${mostPages * 500} tasks`;
  if (open === undefined) return [{ check, state: 'OK', message: `enforced, as sandboxes have proved${of}` }];
  const message = `the sandbox of ${open.task} reached what its NetworkPolicy forbids`;
  if (holds === undefined || open.at >= holds.at)
    return [{ check, state: 'FAIL', message, cure: 'install a network plugin that enforces NetworkPolicies' }];
  const cure = 'look whether all nodes have the plugin; if it came later, delete the older task';
  return [{ check, state: 'WARN', message: `${message}; that of ${holds.task}, which is newer, did not`, cure }];
}

async function pools(ask: Ask): Promise<readonly Finding[]> {
  const answer = await ask<List>(`/apis/${group}/${apiOf}/expertpools`);
  if (!('value' in answer)) return [unseen('Pools', 'ExpertPools of all namespaces', answer)];
  const items = answer.value.items ?? [];
  if (items.length === 0) return [{ check: 'Pools', state: 'WARN', message: 'there is none', cure: 'make the first one: fleet init' }];
  return items.map(({ metadata: { namespace = '', name }, spec, status }): Finding => {
    const check = `Pool ${namespace}/${name}`;
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True' && spec?.workers?.replicas === 0) {
      const cure = `kubectl -n ${namespace} scale expertpool ${name} --replicas=1`;
      return { check, state: 'WARN', message: 'spec.workers.replicas is 0: its tasks wait', cure };
    }
    if (ready?.status === 'True') return { check, state: 'OK', message: 'Ready' };
    const { reason = 'not seen by the operator', message = '' } = ready ?? {};
    const { cure = `see kubectl -n ${namespace} describe expertpool ${name}` } = meaningOf(reason);
    return { check, state: 'FAIL', message: `${reason}: ${message}`, cure };
  });
}

async function devices(ask: Ask): Promise<readonly Finding[]> {
  const check = 'GPUs';
  const [nodes, dra] = await Promise.all([ask<List>('/api/v1/nodes'), ask('/apis/resource.k8s.io')]);
  if (!('value' in nodes)) return [unseen(check, 'Nodes', nodes)];
  const count = (nodes.value.items ?? []).reduce((sum, { status }) => sum + Number(status?.allocatable?.['nvidia.com/gpu'] ?? 0), 0);
  const claims = 'value' in dra ? 'DRA is served' : 'no DRA';
  if (count > 0) return [{ check, state: 'OK', message: `${count} by the device plugin, ${claims}` }];
  return [{ check, state: 'OK', message: `none by a device plugin, ${claims}; models behind an API need none` }];
}

/** A class without a provisioner has the volumes that somebody made. */
async function volumesOf(ask: Ask, check: string, { metadata: { name }, provisioner }: Item): Promise<Finding> {
  const message = `default StorageClass ${name}`;
  if (provisioner !== 'kubernetes.io/no-provisioner') return { check, state: 'OK', message };
  const answer = await ask<List>('/api/v1/persistentvolumes');
  if (!('value' in answer)) return unseen(check, `PersistentVolumes, and nothing makes those of ${message}`, answer);
  const { length } = (answer.value.items ?? []).filter(
    ({ spec, status }) => spec?.storageClassName === name && status?.phase === 'Available',
  );
  if (length > 0) return { check, state: 'OK', message: `${message}, ${plural(length, 'volume')} Available` };
  const cure = 'make a PersistentVolume of it, or make a StorageClass with a provisioner the default one';
  return { check, state: 'WARN', message: `${message} has no provisioner, and no volume of it is Available`, cure };
}

async function storage(ask: Ask): Promise<readonly Finding[]> {
  const check = 'Storage';
  const answer = await ask<List>('/apis/storage.k8s.io/v1/storageclasses');
  if (!('value' in answer)) return [unseen(check, 'StorageClasses', answer)];
  const standard = (answer.value.items ?? []).find(
    ({ metadata }) => metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true',
  );
  if (standard !== undefined) return [await volumesOf(ask, check, standard)];
  const cure = 'mark a StorageClass as the default one, or give each pool spec.storage';
  return [
    { check, state: 'WARN', message: 'there is no default StorageClass: artifacts of pools without spec.storage have no place', cure },
  ];
}

const wanted = [
  ['get', 'agenttasks', 'agentfleet-viewer'],
  ['create', 'agenttasks', 'agentfleet-editor'],
  ['create', 'agenttaskorders', 'agentfleet-approver'],
  ['create', 'expertpools', 'agentfleet-admin'],
] as const;

async function permissions({ transport, namespace, signal }: CommandContext): Promise<readonly Finding[]> {
  return Promise.all(
    wanted.map(async ([verb, resource, role]): Promise<Finding> => {
      const answer = await transport.request<{ readonly status?: { readonly allowed?: boolean } }>({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { namespace, verb, group, resource } },
        },
        signal,
      });
      const check = `May ${verb} ${resource}`;
      if (answer.status?.allowed === true) return { check, state: 'OK', message: `in namespace ${namespace}` };
      return { check, state: 'WARN', message: `not in namespace ${namespace}`, cure: `ask for the ClusterRole ${role} there` };
    }),
  );
}

const colors = { OK: 'green', WARN: 'yellow', FAIL: 'red' } as const;

/** Looks at all that a cluster has to have. @throws CliError when something does not work */
export async function doctor(context: CommandContext, { output: format }: { readonly output?: Format }): Promise<void> {
  const ask = asking(context);
  const checks = [server, definitions, admission, operator, aggregation, network, pools, devices, storage].map((check) => check(ask));
  const found = (await Promise.all([...checks, permissions(context)])).flat();
  if (format === 'json' || format === 'yaml') for (const line of await objectLines(found, format)) context.print(line);
  else
    for (const line of table(
      ['STATE', 'CHECK', 'FOUND', 'CURE'],
      found.map(({ state, check, message, cure = '' }) => [state, check, message, cure]),
    ))
      context.print(line.replace(/^(OK|WARN|FAIL)\b/, (state) => paint(context, colors[state as Finding['state']], state)));
  const failed = found.filter(({ state }) => state === 'FAIL').length;
  if (failed > 0) throw new CliError(`${failed} of ${found.length} checks failed; each has its cure beside it`);
}
