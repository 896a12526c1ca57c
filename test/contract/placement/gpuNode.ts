// A node with four A100, as far as the control plane can tell: a Node object and a ResourceSlice under the names of the
// real driver. No kubelet runs on it, so its pods are bound and never started.
import { randomBytes } from 'node:crypto';
import type { Device, ResourceSlice } from '../../../operator/src/placement/index.ts';
import { createNamespace, until, type Server, type Stored } from '../api/server.ts';

export const driver = 'gpu.nvidia.com';

/** A device as the driver publishes an A100 of 40 GiB. */
export function a100(index: number, uuid: string): Device {
  return {
    // The driver's names do not follow the bus.
    name: `gpu-${3 - index}`,
    attributes: {
      type: { string: 'gpu' },
      uuid: { string: uuid },
      productName: { string: 'NVIDIA A100-SXM4-40GB' },
      architecture: { string: 'Ampere' },
      cudaComputeCapability: { version: '8.0.0' },
      'resource.kubernetes.io/pciBusID': { string: `0000:0${index}:00.0` },
    },
    capacity: { memory: { value: '40Gi' } },
  };
}

export interface Claim {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly allocation?: {
      readonly devices?: {
        readonly results?: readonly { readonly device: string; readonly consumedCapacity?: Readonly<Record<string, string>> }[];
        readonly config?: readonly {
          readonly source: string;
          readonly opaque?: { readonly driver: string; readonly parameters: unknown };
        }[];
      };
    };
    readonly reservedFor?: readonly { readonly name: string }[];
  };
}

interface BoundPod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName?: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[] };
}

export class GpuNode {
  readonly server: Server;
  readonly namespace: string;
  readonly node: string;
  readonly deviceClass: string;
  readonly migDeviceClass: string;
  #generation = 0;

  private constructor(server: Server, namespace: string, run: string) {
    this.server = server;
    this.namespace = namespace;
    this.node = `dgx-${run}`;
    this.deviceClass = `gpu-${run}.nvidia.com`;
    this.migDeviceClass = `mig-${run}.nvidia.com`;
  }

  static async start(server: Server): Promise<GpuNode> {
    const self = new GpuNode(server, await createNamespace(server), randomBytes(4).toString('hex'));
    await self.#create('/api/v1/nodes', {
      metadata: { name: self.node, labels: { 'kubernetes.io/hostname': self.node } },
    });
    const capacity = { cpu: '64', memory: '1Ti', pods: '110' };
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const ready = { type: 'Ready', status: 'True', reason: 'Played', message: '', lastHeartbeatTime: now, lastTransitionTime: now };
    const status = { capacity, allocatable: capacity, conditions: [ready] };
    await self.#must('PATCH', `/api/v1/nodes/${self.node}/status`, { status }, 'application/merge-patch+json');
    await self.#createClass(self.deviceClass, 'gpu');
    await self.#createClass(self.migDeviceClass, 'mig');
    return self;
  }

  async #createClass(name: string, type: string): Promise<void> {
    const expression = `device.driver == '${driver}' && device.attributes['${driver}'].type == '${type}'`;
    await this.#create('/apis/resource.k8s.io/v1/deviceclasses', { metadata: { name }, spec: { selectors: [{ cel: { expression } }] } });
  }

  /** Renews the Lease of the node, as its kubelet would: without it the node counts as lost after 40 s. */
  async beat(): Promise<void> {
    const path = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: this.node, leaseDurationSeconds: 40, renewTime };
    const type = 'application/merge-patch+json';
    const answer = await this.server.ask('PATCH', `${path}/${this.node}`, { body: { spec }, type });
    if (answer.status === 404) await this.server.ask('POST', path, { body: { metadata: { name: this.node }, spec } });
  }

  async close(): Promise<void> {
    await this.server.ask('DELETE', `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${this.node}`);
    await this.server.ask('DELETE', `/apis/resource.k8s.io/v1/resourceslices/${this.node}`);
    for (const name of [this.deviceClass, this.migDeviceClass])
      await this.server.ask('DELETE', `/apis/resource.k8s.io/v1/deviceclasses/${name}`);
    await this.server.ask('DELETE', `/api/v1/namespaces/${this.namespace}/pods?gracePeriodSeconds=0`);
    await this.server.ask('DELETE', `/api/v1/namespaces/${this.namespace}`);
    await this.server.ask('DELETE', `/api/v1/nodes/${this.node}`);
  }

  /** Publishes devices as a driver does: a new generation of the node's pool. */
  async publish(devices: readonly Device[]): Promise<void> {
    this.#generation += 1;
    const pool = { name: this.node, generation: this.#generation, resourceSliceCount: 1 };
    const path = '/apis/resource.k8s.io/v1/resourceslices';
    const body = { metadata: { name: this.node }, spec: { driver, nodeName: this.node, pool, devices } };
    if (this.#generation === 1) await this.#create(path, body);
    else await this.#must('PATCH', `${path}/${this.node}`, { spec: { pool, devices } }, 'application/merge-patch+json');
  }

  /** Adds counted GPUs of 40 GiB to the node, as its kubelet and the feature discovery report them with a device plugin. */
  async count(gpus: number): Promise<void> {
    const type = 'application/merge-patch+json';
    const amount = { 'nvidia.com/gpu': String(gpus) };
    await this.#must('PATCH', `/api/v1/nodes/${this.node}`, { metadata: { labels: { 'nvidia.com/gpu.memory': '40960' } } }, type);
    await this.#must('PATCH', `/api/v1/nodes/${this.node}/status`, { status: { capacity: amount, allocatable: amount } }, type);
  }

  /** Returns this node's slices in the API server. */
  async slices(): Promise<readonly ResourceSlice[]> {
    const { body } = await this.server.ask('GET', `/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3D${this.node}`);
    return (body.items ?? []) as unknown as readonly ResourceSlice[];
  }

  async createClaim(claim: unknown): Promise<void> {
    await this.#create(`/apis/resource.k8s.io/v1/namespaces/${this.namespace}/resourceclaims`, claim);
  }

  async createPod(name: string, spec: object, claims: object): Promise<void> {
    const container = { name: 'engine', image: 'engine', resources: claims };
    const tolerations = [{ operator: 'Exists' }];
    await this.#create(`/api/v1/namespaces/${this.namespace}/pods`, {
      metadata: { name },
      spec: { ...spec, tolerations, containers: [container], terminationGracePeriodSeconds: 0, automountServiceAccountToken: false },
    });
  }

  async claim(name: string): Promise<Claim> {
    const { body } = await this.server.ask('GET', `/apis/resource.k8s.io/v1/namespaces/${this.namespace}/resourceclaims/${name}`);
    return body;
  }

  async pod(name: string): Promise<BoundPod> {
    const { body } = await this.server.ask('GET', `/api/v1/namespaces/${this.namespace}/pods/${name}`);
    return body;
  }

  untilBound(name: string): Promise<void> {
    return until(`pod ${name} is bound`, async () => (await this.pod(name)).spec.nodeName === this.node);
  }

  /** Waits for the scheduler's reason why a pod has no place, and returns it. */
  async refusal(name: string): Promise<string> {
    let message = '';
    await until(`pod ${name} is refused`, async () => {
      const conditions = (await this.pod(name)).status?.conditions ?? [];
      message = conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False')?.message ?? '';
      return message !== '';
    });
    return message;
  }

  #create(path: string, body: unknown): Promise<Stored> {
    return this.#must('POST', path, body, 'application/json');
  }

  async #must(method: string, path: string, body: unknown, type: string): Promise<Stored> {
    const answer = await this.server.ask(method, `${path}?fieldValidation=Strict`, { body, type });
    if (answer.status > 201) throw new Error(`${method} ${path}: ${answer.body.message}`);
    return answer.body;
  }
}
