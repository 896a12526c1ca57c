import { keyOf, type KubeObject } from '@agentfleet/kube';

const name = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^(?=.{0,63}$)([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const key = /^((?=[^/]{1,253}\/)[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?(?=[^/]{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** Kinds whose names become labels of DNS or of pods. */
const short = /^(Deployment|Service|ServiceAccount|PodDisruptionBudget|Namespace)$/;

const mostAnnotations = 262_144;
/** A request that etcd takes with its defaults is smaller than 1.5 MiB. */
const mostBytes = 1_500_000;

interface Conditioned {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly message?: string }[] };
}

/** Lists the faults of an object that the API server, or a reader, could not take: sentences. */
export function faultsOf(object: KubeObject & Conditioned): readonly string[] {
  const { metadata, kind = '' } = object;
  const of = `${kind} ${keyOf(object)}`;
  const faults: string[] = [];
  if (!name.test(metadata.name)) faults.push(`${of} has no legal name`);
  if (short.test(kind) && metadata.name.length > 63) faults.push(`${of} has a name of ${metadata.name.length} characters`);
  for (const [at, value] of Object.entries(metadata.labels ?? {}))
    if (!key.test(at) || !label.test(value)) faults.push(`${of} has the label ${at}=${value}`);
  const annotations = Object.entries(metadata.annotations ?? {});
  const size = annotations.reduce((sum, [at, value]) => sum + Buffer.byteLength(at) + Buffer.byteLength(value), 0);
  if (size > mostAnnotations) faults.push(`${of} has annotations of ${size} bytes`);
  const bytes = Buffer.byteLength(JSON.stringify(object));
  if (bytes > mostBytes) faults.push(`${of} has ${bytes} bytes`);
  for (const { type, message = '' } of object.status?.conditions ?? []) {
    if (message.length > 1024) faults.push(`${of}: ${type} has ${message.length} characters`);
    if (!message.isWellFormed()) faults.push(`${of}: ${type} ends inside a character`);
  }
  return faults;
}
