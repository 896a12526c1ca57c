import { writeFile } from 'node:fs/promises';
import { defineResource, isNotFound, ResourceClient, type KubeObject } from '@agentfleet/kube';
import {
  apiVersion,
  agentTask,
  agentTaskOrder,
  energyModel,
  expertPool,
  expertScale,
  group,
  poolGrant,
  rolloutPolicy,
} from '@agentfleet/protocol/api';
import type { ConnectionFlags } from '../base/connection.ts';
import { CliError } from '../base/failure.ts';
import { objectLines } from '../text/format.ts';
import type { CommandContext } from './command.ts';

/** An object of ours as a backup holds it. */
export interface Saved extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** In the order in which they are made again: what others name comes first. Orders are saved for the record alone. */
export const savedKinds = [rolloutPolicy, poolGrant, energyModel, expertPool, expertScale, agentTask, agentTaskOrder].map(
  ({ kind, plural }) => defineResource<Saved>(apiVersion, kind, plural),
);

/** Kubectl's note of what was applied, which would be of another object. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Returns the fields from which an object is made again: none that belongs to the cluster it comes from. Pure. */
function savedObject({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }, object: Saved): Saved {
  const { name, namespace, labels, annotations } = object.metadata;
  const { [lastApplied]: _, ...notes } = annotations ?? {};
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(Object.keys(notes).length === 0 ? {} : { annotations: notes }),
  };
  const { spec, status } = object;
  return { apiVersion, kind, metadata, ...(spec === undefined ? {} : { spec }), ...(status === undefined ? {} : { status }) };
}

/** Fields that name an object of another kind, and what it is. */
const referring: Readonly<Record<string, string>> = {
  secretRef: 'Secret',
  configMap: 'ConfigMap',
  configMapKeyRef: 'ConfigMap',
  caBundleRef: 'ConfigMap',
  imagePullSecrets: 'Secret',
  claim: 'PersistentVolumeClaim',
};

/** All that a spec names and that is no object of ours, as `Kind namespace/name` and addresses of storage. Pure. */
export function outsideOf({ metadata, spec }: Saved): readonly string[] {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(look);
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      const kind = referring[key];
      for (const one of kind === undefined ? [] : [inner].flat()) {
        const name = typeof one === 'object' && one !== null ? (one as { readonly name?: unknown }).name : undefined;
        if (typeof name === 'string') found.add(`${kind} ${metadata.namespace ?? ''}/${name}`);
      }
      if (key === 'uri' && typeof inner === 'string' && /^(s3|pvc):/.test(inner)) found.add(`storage ${inner}`);
      look(inner);
    }
  };
  look(spec);
  return [...found];
}

/** Writes all objects of the fleet, of one namespace or of all, into one file of manifests. */
export async function backup({ transport, signal, print }: CommandContext, file: string, { namespace }: ConnectionFlags): Promise<void> {
  const where = namespace === undefined ? {} : { namespace };
  const lines: string[] = [];
  const outside = new Set<string>();
  const counts: string[] = [];
  for (const resource of savedKinds) {
    const objects = await new ResourceClient(transport, resource).list({ ...where, signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      throw new CliError(
        `the cluster does not serve ${resource.plural}.${group}; install the chart's definitions, or choose another context`,
      );
    });
    for (const object of objects) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      lines.push('---', ...(await objectLines(savedObject(resource, object), 'yaml')));
      for (const one of outsideOf(object)) outside.add(one);
    }
    counts.push(`${objects.length} ${resource.plural}`);
  }
  const head = ['# Backup of a fleet: "fleet restore" makes these objects again. Not in it, and named by them:'];
  const named = [...outside].toSorted().map((one) => `#   ${one}`);
  const text = [...head, ...(named.length === 0 ? ['#   nothing'] : named), ...lines, ''].join('\n');
  await writeFile(file, text, { mode: 0o600 }).catch((error: unknown) => {
    throw new CliError(`${file} cannot be written (${error instanceof Error ? error.message : String(error)}); name another file`);
  });
  print(`${file}: ${counts.join(', ')}`);
  if (named.length > 0) print(`not in it, and named by them: ${[...outside].toSorted().join(', ')}`);
}
