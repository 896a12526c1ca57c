import { defineResource } from '../api/resource.ts';
import type { KubeObject } from '../api/object.ts';

/** `coordination.k8s.io/v1` Lease. */
export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export const leases = defineResource<Lease>({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
});

/** The three calls that an elector makes; a `ResourceClient<Lease>` has them. It must not be fenced. */
export interface LeaseClient {
  find(name: { readonly namespace: string; readonly name: string }, options: LeaseCall): Promise<Lease | undefined>;
  create(lease: Lease, options: LeaseCall): Promise<Lease>;
  update(lease: Lease, options: LeaseCall): Promise<Lease>;
}

export interface LeaseCall {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}
