import { join } from 'node:path';
import { defineResource, ResourceClient, type KubeObject } from '@agentfleet/kube';
import { keeperPort, labels, sandboxPod } from '@agentfleet/operator/sandbox';
import { freePort } from '../../cluster/base/ports.ts';
import { images, leads } from './ours.ts';
import { poll, type Place, type Running, type Subject, type Wishes } from './subject.ts';
import { Measured } from './process.ts';
import { hasCondition } from '../../cluster/base/api.ts';
import { resources } from '@agentfleet/operator/resources';

const version = 'v1beta1';
const extensions = 'extensions.agents.x-k8s.io';
const sandboxes = defineResource(`agents.x-k8s.io/${version}`, 'Sandbox', 'sandboxes');
const templates = defineResource(`${extensions}/${version}`, 'SandboxTemplate', 'sandboxtemplates');
const pools = defineResource(`${extensions}/${version}`, 'SandboxWarmPool', 'sandboxwarmpools');
const claims = defineResource(`${extensions}/${version}`, 'SandboxClaim', 'sandboxclaims');

const warmPool = 'bench';

interface PodTemplate {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>> | undefined;
  };
  readonly spec: object | undefined;
}

/** The pod that our operator makes for a task, as a template. */
export function podTemplate(): PodTemplate {
  const { spec, metadata } = sandboxPod({
    name: 'any',
    namespace: 'any',
    task: 'any',
    sandboxImage: images.sandbox,
    toolsImage: images.tools,
    clients: ['system:serviceaccount:any:worker'],
    issuer: 'https://kubernetes.default.svc.cluster.local',
    keeperEnv: { AGENTFLEET_PORT: String(keeperPort) },
  });
  const { [labels.component]: _, ...own } = metadata?.labels ?? {};
  return { metadata: { labels: own, annotations: metadata?.annotations }, spec };
}

/** Makes the pool of waiting sandboxes, and waits until they are ready. */
async function fill({ transport, namespace }: Place, replicas: number): Promise<void> {
  const metadata = { name: warmPool, namespace };
  const template = { metadata, spec: { podTemplate: podTemplate(), networkPolicyManagement: 'Unmanaged' } };
  await new ResourceClient<KubeObject>(transport, templates).create(template);
  const client = new ResourceClient<KubeObject & { readonly status?: { readonly readyReplicas?: number } }>(transport, pools);
  const pool = { metadata, spec: { replicas, sandboxTemplateRef: { name: warmPool } } };
  await client.create(pool);
  const ready = async (): Promise<boolean> => ((await client.get(metadata)).status?.readyReplicas ?? 0) >= replicas;
  await poll('sandboxes of the peer wait', ready, 120_000);
}

async function startProcess(place: Place, binary: string, flags: readonly string[], index: number, extended: boolean): Promise<Measured> {
  const args = [
    // The stock definitions ask a webhook to convert an older version, which no client uses here; ours ask none.
    '--enable-webhook=false',
    `--leader-election-namespace=${place.system}`,
    `--metrics-bind-address=127.0.0.1:${await freePort()}`,
    `--health-probe-bind-address=127.0.0.1:${await freePort()}`,
    ...(extended ? ['--extensions'] : []),
    ...flags,
  ];
  const log = join(place.logs, `${place.namespace}-agent-sandbox-${index}.log`);
  return new Measured(binary, args, { env: { KUBECONFIG: place.kubeconfig }, log });
}

interface PeerOptions {
  readonly binary: string;
  readonly version: string;
  /** Its command line; empty: its defaults. */
  readonly flags: readonly string[];
}

/** The agent-sandbox controller. */
export function peerSubject({ binary, version: release, flags }: PeerOptions, isWarm = false): Subject {
  const cold = (name: string, namespace: string) => ({ metadata: { name, namespace }, spec: { podTemplate: podTemplate() } });
  const claim = (name: string, namespace: string) => ({ metadata: { name, namespace }, spec: { warmPoolRef: { name: warmPool } } });
  return {
    name: `agent-sandbox ${release}${flags.length === 0 ? '' : ` ${flags.join(' ')}`}`,
    agent: 'agent-sandbox-controller/',
    resource: isWarm ? claims : sandboxes,
    manifest: isWarm ? claim : cold,
    isReady: (object) => hasCondition(object, 'Ready'),
    start: async (place: Place, wishes: Wishes): Promise<Running> => {
      const processes: Measured[] = [];
      for (let index = 0; index < wishes.replicas; index += 1) {
        processes.push(await startProcess(place, binary, flags, index, wishes.warm > 0));
        await poll('the peer leads', () => leads(place), 30_000);
      }
      if (wishes.warm > 0) await fill(place, wishes.warm);
      return {
        processes,
        loopLagMs: () => Promise.resolve(undefined),
        stop: async () => void (await Promise.all(processes.map((one) => one.end()))),
      };
    },
    warm: () => peerSubject({ binary, version: release, flags }, true),
  };
}

/** Returns bare pods as a subject: the pods of the sandboxes themselves, made by the client. No control plane takes less for them. */
export function bareSubject(): Subject {
  const subject: Subject = {
    name: 'no controller: bare pods',
    agent: 'nobody/',
    resource: resources.pods,
    manifest: (name, namespace) => {
      const { metadata, spec } = podTemplate();
      const { labels, annotations = {} } = metadata;
      return { metadata: { name, namespace, labels, annotations }, spec } as ReturnType<Subject['manifest']>;
    },
    isReady: (object) => hasCondition(object, 'Ready'),
    start: () => Promise.resolve({ processes: [], loopLagMs: () => Promise.resolve(undefined), stop: () => Promise.resolve() }),
    warm: () => subject,
  };
  return subject;
}
